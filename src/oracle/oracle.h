// SPDX-License-Identifier: Apache-2.0
//
// What a collective must return, computed from all ranks' inputs at once and in one place. Shares
// no code with the product: it works in doubles and 128-bit sums where the product works in
// fields and 64-bit lanes, on whole tensors where the product sees chunks, and knows nothing of
// packets, slots or trees. That is what makes an agreement of bits worth something.
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
  bool agreed = false;      // floats in a unit that all ranks agreed on
  std::uint32_t world = 1;  // ranks in the job
  std::uint64_t elements = 0;
  // Of the ranks that contribute, in any order.
  std::vector<const std::byte*> inputs;
};

void expected_result(const Request& request, std::span<std::byte> result);

// The agreed exponent codes of such a request, as they are before the sum (bit 15: specials).
std::vector<std::uint16_t> expected_codes(const Request& request);

}  // namespace infold::oracle
