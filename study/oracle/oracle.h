// SPDX-License-Identifier: Apache-2.0
//
// Computes the right result of a collective from all ranks' inputs at once. The oracle shares no
// code with the product, so equal bits prove something. It computes with doubles and 128-bit sums,
// while the product uses bit fields and 64-bit lanes. It sees whole tensors, and knows nothing of
// chunks, packets, slots or trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/format.h"

namespace infold::oracle {

struct Request {
  core::ElementLayout layout;
  core::Collective collective = core::Collective::all_reduce;
  core::Reduction reduction = core::Reduction::sum;
  bool agreed = false;      // floats with agreed exponents
  std::uint32_t world = 1;  // ranks in the job
  std::uint64_t elements = 0;
  // The inputs of the contributing ranks, in any order.
  std::vector<const std::byte*> inputs;
};

void expected_result(const Request& request, std::span<std::byte> result);

// Returns the agreed exponent codes of a request with `agreed` set. Bit 15 stands for special
// values.
std::vector<std::uint16_t> expected_codes(const Request& request);

}  // namespace infold::oracle
