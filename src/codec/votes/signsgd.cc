// SPDX-License-Identifier: Apache-2.0
//
// The method `signsgd` (Bernstein 2018): the majority of the ranks' signs.
#include "codec/votes/signsgd.h"

#include "codec/methods/methods.h"

namespace infold::codec {

Method signsgd_method() {
  return sign_method("signsgd", "one bit an element, and the majority of the ranks' signs");
}

}  // namespace infold::codec
