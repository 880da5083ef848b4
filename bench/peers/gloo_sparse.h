// SPDX-License-Identifier: Apache-2.0
//
// Sums on Gloo that leave out zeros, as one would write them without a network that helps. Both
// keep their memory from sum to sum; a Reduce is for one thread.
#pragma once

#include <cstddef>
#include <memory>

#include <gloo/rendezvous/context.h>

#include "bench/peers/peer.h"

namespace infold::peers {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

// The simple rival: the ranks join the sets of blocks that they have, a bit each, and a ring sums
// the blocks that some rank has, side by side.
Reduce ring_over_union(const Context& context, std::size_t block, std::size_t elements);

// What PyTorch makes of sparse COO tensors: every rank gathers the indices and values of all ranks
// and adds them up by itself. Rows of `block` elements have an index each; with 1, elements do.
// What a rank has is found in its first sum, because such tensors come with their indices.
Reduce gathered_rows(const Context& context, std::size_t block, std::size_t elements);

// A ring of sums in place.
void ring_sum(const Context& context, std::span<float> tensor);

}  // namespace infold::peers
