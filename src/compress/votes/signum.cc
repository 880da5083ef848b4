// SPDX-License-Identifier: Apache-2.0
//
// The method `signum` (Bernstein 2018): signsgd applied to a running mean, which the memory
// `momentum` keeps.
#include "compress/methods/methods.h"
#include "compress/votes/signsgd.h"

namespace infold::compress {

Method signum_method() {
  return sign_method("signum", "as signsgd; with memory momentum, the signs of a running mean");
}

}  // namespace infold::compress
