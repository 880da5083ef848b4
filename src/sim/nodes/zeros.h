// SPDX-License-Identifier: Apache-2.0
//
// Contributions of zeros, which take no memory. For runs in which only times count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "core/worker/worker.h"

namespace infold::sim {

// A chunk of zeros, as it travels.
void write_zeros(core::ElementLayout layout, core::ChunkRange range, std::byte* exponents,
                 std::byte* elements);

// The request then contributes zeros in its layout, and nobody reads its result.
void contribute_zeros(core::TransferRequest& request);
// An all-reduce of so many zeros.
core::TransferRequest sum_of_zeros(core::ElementLayout layout, std::uint64_t elements);

}  // namespace infold::sim
