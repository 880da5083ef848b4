// SPDX-License-Identifier: Apache-2.0
//
// The method `hard` (Sahu 2021, "Rethinking gradient sparsification as total error minimization"):
// the threshold stays the same over the training. For a given budget of a whole training, this has
// the least sum of errors. The paper derives the threshold from the number of elements of the whole
// model that a step should send:
//
//   threshold = 1 / (2 sqrt(kept))
#include <cmath>

#include "compress/methods/methods.h"
#include "compress/sparsifiers/above.h"

namespace infold::compress {

Method hard_method() {
  return {.name = "hard",
          .summary = "the elements above a threshold that follows from how many a step shall send",
          .bias = Bias::contractive,
          .settings = {{.name = "kept",
                        .usual = 10000,
                        .least = 1,
                        .most = 1e12,
                        .meaning = "elements of the whole model that a step shall send"},
                       travel_setting()},
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Above>(1 / (2 * std::sqrt(settings["kept"])),
                                           travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::compress
