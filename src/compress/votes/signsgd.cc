// SPDX-License-Identifier: Apache-2.0
//
// The method `signsgd` (Bernstein 2018): the majority of the ranks' signs.
#include "compress/votes/signsgd.h"

#include "compress/methods/methods.h"

namespace infold::compress {

Method signsgd_method() {
  return sign_method("signsgd", "one bit an element, and the majority of the ranks' signs");
}

}  // namespace infold::compress
