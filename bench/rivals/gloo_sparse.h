// SPDX-License-Identifier: Apache-2.0
//
// Sums with Gloo that leave out zeros, without help from a network. Both keep their memory from one
// sum to the next. One thread uses a Reduce.
#pragma once

#include <cstddef>
#include <memory>

#include <gloo/rendezvous/context.h>

#include "bench/rivals/rival.h"

namespace infold::rivals {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

// The simple alternative. The ranks join the sets of their blocks, with one bit per block. Then a
// ring sums the blocks that some rank has, packed together.
Reduce ring_over_union(const Context& context, std::size_t block, std::size_t elements);

// Sums like sparse COO tensors in PyTorch: every rank gathers the indices and values of all ranks,
// and adds them. A row of `block` elements has one index. The first sum finds the rows of a rank,
// because such tensors come with their indices.
Reduce gathered_rows(const Context& context, std::size_t block, std::size_t elements);

// A ring that sums in place.
void ring_sum(const Context& context, std::span<float> tensor);

}  // namespace infold::rivals
