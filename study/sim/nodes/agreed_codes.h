// SPDX-License-Identifier: Apache-2.0
//
// How ranks agree on exponents before an add-only plane sums floats. A separate transfer
// takes the maximum of the ranks' codes, and remembers whether any rank has specials.
#pragma once

#include "core/tensor_codec.h"

namespace infold::sim {

// The tensor has one u16 code per block, with bit 15 for "specials". On the wire each code is two
// 32-bit integers under max: the code and the bit. A single integer for both would not do, because
// a rank with specials and a small code would win the maximum.
const core::TensorCodec& agreed_codes_codec();

}  // namespace infold::sim
