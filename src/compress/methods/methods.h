// SPDX-License-Identifier: Apache-2.0
//
// The records of the built-in methods. Each method has a file with its record and its compressor,
// in this folder or beside it in quantisers/, sparsifiers/, votes/, sketches/ or matrices/.
#pragma once

#include "compress/method.h"

namespace infold::compress {

Method none_method();

// Integers that aggregators add.
Method shared_scale_method();
Method thc_method();

// Signs.
Method onebit_method();

// Quantisers, with a few bits for each element, from a codebook for each bucket.
Method qsgd_method();
Method terngrad_method();
Method natural_method();
Method table8_method();
Method minmax_method();
Method sketchml_method();

// Votes on signs, and sketches. Aggregators add both.
Method signsgd_method();
Method signum_method();
Method scaled_sign_method();
Method count_sketch_method();

// Matrices of low rank.
Method powersgd_method();

// Sparsifiers, which choose elements.
Method topk_method();
Method threshold_method();
Method hard_method();
Method randomk_method();
Method dgc_method();
Method adaq_method();
Method sidco_method();
Method strom_method();
Method three_lc_method();

}  // namespace infold::compress
