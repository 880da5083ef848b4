// SPDX-License-Identifier: Apache-2.0
//
// The last step of a sparse sum over aggregators that only add integers: a transfer of ranges and a
// transfer of digits, both sized later, of the blocks that some rank has. The blocks lie
// side by side in memory of the pool, which becomes their sum.
//
//   begin() -> transfer(0), transfer(1) -> gather() -> ranges done -> plan() -> digits done
//           -> deliver() -> clear()
#pragma once

#include <cstdint>

#include "codec/digits.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"
#include "sparse/block_sum.h"

namespace infold::rank {

class BlockDigits {
 public:
  static constexpr std::uint32_t kTransfers = 2;

  explicit BlockDigits(ScratchPool& pool) : elements_(pool), sums_(pool) {}

  // Changes `dense`, the sum's whole tensor, to floats as they are.
  void begin(core::TransferRequest& dense, const LaunchTerms& terms);
  core::TransferRequest transfer(std::uint32_t number);
  // The union is known: how many elements the ranges have. Throws std::bad_alloc.
  std::uint64_t gather(const sparse::BlockSum& sum);
  // The ranges are known: how many integers the digits are. Throws std::bad_alloc.
  std::uint64_t plan();
  void deliver(sparse::BlockSum& sum) const;
  void clear();

 private:
  codec::Digits digits_;
  Staging elements_;  // of the union
  Staging sums_;      // of groups that are not complete
};

}  // namespace infold::rank
