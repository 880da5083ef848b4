// SPDX-License-Identifier: Apache-2.0
//
// Contributions of zeros, whose results nobody reads. For runs in which only times count.
#pragma once

#include "core/tensor_codec.h"

namespace infold::sim {

// The context is the core::ElementLayout of the transfer.
const core::TensorCodec& zeros_codec();

}  // namespace infold::sim
