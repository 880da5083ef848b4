// SPDX-License-Identifier: Apache-2.0
//
// The last step of a sparse sum over aggregators that can only add integers. It sums the blocks
// that some rank has in two transfers, one of ranges and one of digits. Both get their
// sizes later. The blocks lie side by side in the pool's memory, where their sum replaces them.
//
//   begin() -> transfer(0), transfer(1) -> gather() -> ranges done -> plan() -> digits done
//           -> deliver() -> clear()
#pragma once

#include <cstdint>

#include "encoding/digits.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"
#include "sparse/block_sum.h"

namespace infold::rank {

class BlockDigits {
 public:
  static constexpr std::uint32_t kTransfers = 2;

  explicit BlockDigits(ScratchPool& pool) : elements_(pool), sums_(pool) {}

  // Makes `dense`, the sum's whole tensor, a tensor of native floats.
  void begin(core::TransferRequest& dense, const LaunchTerms& terms);
  core::TransferRequest transfer(std::uint32_t number);
  // Called when the union is known. Returns how many elements the ranges have. Throws
  // std::bad_alloc.
  std::uint64_t gather(const sparse::BlockSum& sum);
  // Called when the ranges are known. Returns how many integers the digits are. Throws
  // std::bad_alloc.
  std::uint64_t plan();
  void deliver(sparse::BlockSum& sum) const;
  void clear();

 private:
  encoding::Digits digits_;
  Staging elements_;  // the elements of the union
  Staging sums_;      // integer sums of groups that are not complete
};

}  // namespace infold::rank
