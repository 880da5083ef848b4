// SPDX-License-Identifier: Apache-2.0
//
// The method `hard` (Sahu 2021, "Rethinking gradient sparsification as total error minimization"):
// a threshold that stays the same over the training. For a whole training of one budget, this has
// the least sum of errors. The paper's rule makes the threshold from the number of elements of the
// whole model that a step shall send:
//
//   threshold = 1 / (2 sqrt(kept))
#include <cmath>

#include "codec/methods/methods.h"
#include "codec/sparsifiers/above.h"

namespace infold::codec {

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

}  // namespace infold::codec
