// SPDX-License-Identifier: Apache-2.0
//
// The method `threshold`: the elements whose magnitude is above a value. The tensor decides how
// many these are.
#include <limits>

#include "codec/methods/methods.h"
#include "codec/sparsifiers/above.h"

namespace infold::codec {

Method threshold_method() {
  return {.name = "threshold",
          .summary = "the elements whose magnitude is above a value",
          .bias = Bias::contractive,
          .settings = {{.name = "value",
                        .usual = 0.01,
                        .least = 0,
                        .most = std::numeric_limits<float>::max(),
                        .meaning = "the largest magnitude that is not sent"},
                       travel_setting()},
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Above>(settings["value"], travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::codec
