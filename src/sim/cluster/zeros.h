// SPDX-License-Identifier: Apache-2.0
//
// Tensors of zeros that take no memory, for runs in which only time is of interest.
#pragma once

#include "core/format.h"
#include "core/worker/worker.h"

namespace infold::sim {

// An all-reduce of so many zeros. Requires: they have 4 bytes on the wire.
core::TransferRequest sum_of_zeros(core::ElementLayout layout, std::uint64_t elements);

}  // namespace infold::sim
