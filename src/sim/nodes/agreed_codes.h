// SPDX-License-Identifier: Apache-2.0
//
// How ranks agree on exponents before an add-only plane sums floats: a transfer of their
// own codes that keeps the greatest, and remembers whether any rank has specials.
#pragma once

#include "core/tensor_codec.h"

namespace infold::sim {

// The tensor is one u16 code per block, bit 15 saying "specials". On the wire, each is two
// 32-bit integers under max: the code and the bit, because the greatest of both together would
// be that of a rank with specials and a small code.
const core::TensorCodec& agreed_codes_codec();

}  // namespace infold::sim
