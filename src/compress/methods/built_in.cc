// SPDX-License-Identifier: Apache-2.0
#include "compress/methods/methods.h"

namespace infold::compress {

std::span<const Method> built_in_methods() {
  static const std::vector<Method> methods = {
      none_method(),
      shared_scale_method(),
      thc_method(),
      onebit_method(),
      // Quantisers with a codebook for each bucket.
      qsgd_method(),
      terngrad_method(),
      natural_method(),
      table8_method(),
      minmax_method(),
      sketchml_method(),
      // Sparsifiers, which choose elements.
      topk_method(),
      threshold_method(),
      hard_method(),
      randomk_method(),
      dgc_method(),
      adaq_method(),
      sidco_method(),
      strom_method(),
      three_lc_method(),
      // Votes on signs, and sketches, which aggregators add.
      signsgd_method(),
      signum_method(),
      scaled_sign_method(),
      count_sketch_method(),
      powersgd_method(),
  };
  return methods;
}

}  // namespace infold::compress
