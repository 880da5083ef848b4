// SPDX-License-Identifier: Apache-2.0
//
// Brings the names of core/exact/float_bits.h, which handles floats as integers, into this folder's
// namespace.
#pragma once

#include "core/exact/float_bits.h"

namespace infold::numeric {

using core::Bf16;
using core::ExactFloat;
using core::F16;
using core::F32;
using core::F64;
using core::floor_log2;
using core::is_special;
using core::load;
using core::magnitude_bits;
using core::pack;
using core::round_shift;
using core::store;
using core::unpack;

}  // namespace infold::numeric
