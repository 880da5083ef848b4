// SPDX-License-Identifier: Apache-2.0
//
// Contributions of zeros, which take no memory, for runs in which only times matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "core/worker/worker.h"

namespace infold::sim {

// Writes a chunk of zeros in the form in which it travels.
void write_zeros(core::ElementLayout layout, core::ChunkRange range, std::byte* exponents,
                 std::byte* elements);

// Makes the request contribute zeros in its layout. Nobody reads its result.
void contribute_zeros(core::TransferRequest& request);
// Returns an all-reduce of this many zeros.
core::TransferRequest sum_of_zeros(core::ElementLayout layout, std::uint64_t elements);

}  // namespace infold::sim
