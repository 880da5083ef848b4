// SPDX-License-Identifier: Apache-2.0
//
// The method `threshold`: it sends the elements whose magnitude is above a value. How many these
// are depends on the tensor.
#include <limits>

#include "compress/methods/methods.h"
#include "compress/sparsifiers/above.h"

namespace infold::compress {

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

}  // namespace infold::compress
