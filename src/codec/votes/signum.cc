// SPDX-License-Identifier: Apache-2.0
//
// The method `signum` (Bernstein 2018): signsgd of a running mean, which the memory `momentum`
// keeps.
#include "codec/methods/methods.h"
#include "codec/votes/signsgd.h"

namespace infold::codec {

Method signum_method() {
  return sign_method("signum", "as signsgd; with memory momentum, the signs of a running mean");
}

}  // namespace infold::codec
