// SPDX-License-Identifier: Apache-2.0
#include "codec/methods/methods.h"

namespace infold::codec {

std::span<const Method> built_in_methods() {
  static const std::vector<Method> methods = {
      none_method(),
      shared_scale_method(),
      onebit_method(),
  };
  return methods;
}

}  // namespace infold::codec
