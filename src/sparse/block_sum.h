// SPDX-License-Identifier: Apache-2.0
//
// A sum of tensors that are mostly zeros, as a chain of ordinary transfers (spec R-076): first the
// ranks join the sets of blocks in which they have something, in one step or, for long tensors,
// level by level; then they sum the blocks that some rank has. Tensors may lie in memory as a whole
// or as rows, the result too, and that is each rank's own affair. The caller makes the transfers
// and says when each is done.
//
//   begin() -> step(0) done -> size_after(0) -> step(1) done ... -> finish()
//
// Not thread-safe; stays where it is while transfers are in flight, and keeps its memory for the
// next sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/worker/worker.h"
#include "sparse/gathered.h"
#include "sparse/rows_input.h"
#include "sparse/rows_output.h"
#include "sparse/set_join.h"

namespace infold::sparse {

class BlockSum {
 public:
  struct Work {
    core::TransferRequest dense;  // the all-reduce of the whole, without agreed exponents
    // Input and output overlap, and not by being the same: nothing is written to the output before
    // finish(). Without it they may not overlap.
    bool stages = false;
    std::optional<Rows> input_rows = {};    // in place of its input
    std::uint64_t output_row_elements = 0;  // not 0: rows of this length in place of its output
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
  };

  // Whether zeros say nothing under this reduction, so that they need not be sent.
  static bool can_be_sparse(core::Reduction reduction);
  // The longest tensor of a type.
  static constexpr std::uint64_t elements_max(core::DataType dtype) {
    return SetJoin::kNumbersMax << core::ElementLayout{core::WireFormat::i32, dtype}.block_shift();
  }

  // The first rank whose rows are of another length than those of a rank before it. Rows of one
  // element have no length that could differ: they are elements with their places.
  struct RowLengths {
    std::uint32_t rank = 0;
    std::uint32_t elements = 0;
    std::uint32_t other = 0;
    std::uint32_t other_elements = 0;
  };

  // Reads the input once.
  void begin(const Work& work);

  // How many transfers it takes, and each of them, to be submitted in this order at once: all but
  // the first wait for their size.
  std::uint32_t steps() const { return join_.steps() + 1; }
  core::TransferRequest step(std::uint32_t number);
  // This step is done, and not the last: how many elements the next one has, and which of their
  // blocks are this rank's, a bit each; null: all.
  std::uint64_t size_after(std::uint32_t number);
  const std::uint32_t* own_after(std::uint32_t number) const {
    return number + 2 < steps() ? nullptr : own_.data();
  }
  // Known with the first size, and the same at all ranks. Then nothing is summed, all sizes are 0,
  // and what is not staged may have been cleared.
  const std::optional<RowLengths>& row_lengths_differ() const { return row_lengths_differ_; }
  // After the last size is known: what memory results need until finish(), or, of rows, that they
  // stay in. 0 where they go to the output at once, or where there are none.
  std::size_t staged_bytes() const;
  void stage(std::byte* results);
  // The last step is done: the output is the sum. Requires: row lengths do not differ.
  void finish();

  // Of a result in rows, after finish(): how many hold anything. take_rows() brings their values to
  // the beginning of the staged memory and writes which they are.
  std::uint64_t rows_found() const { return rows_found_; }
  void take_rows(std::int64_t* indices) { rows_output_.take(indices); }

  // Known with the last size: how many blocks of how many some rank has.
  std::uint64_t union_blocks() const { return union_blocks_; }
  std::uint64_t blocks() const { return blocks_total_; }

 private:
  bool has_rows_in() const { return work_.input_rows.has_value(); }
  bool has_rows_out() const { return work_.output_row_elements > 0; }
  // Results go at once to an output that may hold anything, so that it is cleared first.
  bool writes_at_once_elsewhere() const {
    return !has_rows_out() && !work_.stages && work_.dense.output != work_.dense.input;
  }
  std::size_t block_bytes() const;
  std::size_t output_bytes() const;
  void find_own_blocks();
  std::uint32_t own_row_length() const;
  std::uint64_t gather_blocks();
  void clear_absent();

  Work work_;
  bool has_signs_ = false;  // negative zeros, which a sum makes positive
  std::uint64_t blocks_total_ = 0;
  std::uint64_t union_blocks_ = 0;
  std::uint64_t union_elements_ = 0;
  std::uint64_t rows_found_ = 0;
  std::optional<RowLengths> row_lengths_differ_;
  std::vector<std::uint32_t> found_;   // a bit for each block in the memory that is looked through
  SetJoin join_;                       // of the blocks that this rank has, with those of others
  std::vector<std::uint32_t> blocks_;  // that some rank has
  std::vector<std::uint32_t> own_;     // of these, a bit for each that this rank has
  core::TensorCodec codec_;            // from this kind of input to this kind of output
  Gathered input_;
  Gathered output_;
  RowsInput rows_input_;
  RowsOutput rows_output_;
};

}  // namespace infold::sparse
