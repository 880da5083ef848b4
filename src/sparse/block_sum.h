// SPDX-License-Identifier: Apache-2.0
//
// A sum of tensors that are mostly zeros, as a chain of ordinary transfers (spec section 9): first
// the ranks join the sets of blocks in which they have something, in one step or, for long tensors,
// in two of which the first says where the second has to look; then they sum the blocks that some
// rank has. The caller makes the transfers and says when each is done.
//
//   begin() -> step(0) done -> size_after(0) -> step(1) done ... -> finish()
//
// Not thread-safe; stays where it is while transfers are in flight, and keeps its memory for the
// next sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/worker.h"
#include "sparse/gathered.h"

namespace infold::sparse {

class BlockSum {
 public:
  // Whether zeros say nothing under this reduction, so that they need not be sent.
  static bool can_leave_out_zeros(core::Reduction reduction);

  // `dense` is the all-reduce of the whole, without agreed exponents. Reads its input once. With
  // `stages`, and only then, input and output may overlap otherwise than by being the same; nothing
  // is then written to the output before finish().
  void begin(const core::TransferRequest& dense, bool stages);

  // How many transfers it takes, and each of them, to be submitted in this order at once: all but
  // the first wait for their size.
  std::uint32_t steps() const { return coarse_.empty() ? 2 : 3; }
  core::TransferRequest step(std::uint32_t number);
  // This step is done, and not the last: how many elements the next one has.
  std::uint64_t size_after(std::uint32_t number);
  // Of sums that are staged, after the last size is known: where results are kept until finish().
  std::size_t staged_bytes() const;
  void stage(std::byte* results);
  // The last step is done: the output is the sum.
  void finish();

  // Known with the last size: how many blocks of how many some rank has.
  std::uint64_t blocks_present() const { return blocks_present_; }
  std::uint64_t blocks() const { return blocks_total_; }

 private:
  core::TransferRequest join_request(std::vector<std::uint32_t>& words) const;
  std::size_t block_bytes() const;
  std::uint64_t gather_fine_words();
  std::uint64_t gather_blocks();
  void clear_absent();

  core::TransferRequest dense_;
  bool stages_ = false;
  bool has_signs_ = false;  // negative zeros, which a sum makes positive
  std::uint64_t blocks_total_ = 0;
  std::uint64_t blocks_present_ = 0;
  std::uint64_t elements_present_ = 0;
  std::vector<std::uint32_t> present_;      // a bit for each block; then of all ranks
  std::vector<std::uint32_t> coarse_;       // a bit for each word of these; empty for short tensors
  std::vector<std::uint32_t> fine_;         // those words that some rank has bits in
  std::vector<std::uint32_t> fine_places_;  // where they belong
  std::vector<std::uint32_t> blocks_;       // that some rank has
  std::vector<std::uint32_t> own_;          // a bit for each block that this rank has
  std::vector<std::uint32_t> own_of_some_;  // the same, a bit for each that some rank has
  Gathered input_;
  Gathered output_;
};

}  // namespace infold::sparse
