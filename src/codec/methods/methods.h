// SPDX-License-Identifier: Apache-2.0
//
// The records of the built-in methods. Each method is one file of this folder, which makes its
// record and its compressor.
#pragma once

#include "codec/compress/method.h"

namespace infold::codec {

Method none_method();

// Integers that aggregators add.
Method shared_scale_method();

// Signs.
Method onebit_method();

}  // namespace infold::codec
