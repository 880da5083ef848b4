// SPDX-License-Identifier: Apache-2.0
//
// A sparse sum, as a chain of ordinary transfers. First the ranks join the sets of their
// nonzero blocks, in one step or, for long tensors, level by level. Then they sum the blocks of the
// union. Each rank may hold its tensor and its result as a whole or as rows. The caller submits the
// transfers and reports when each is done.
//
//   begin() -> step(0) done -> size_after(0) -> step(1) done ... -> finish()
//
// A BlockSum is not thread-safe and must not move while transfers are in flight. It keeps its
// memory for the next sum.
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
    core::TransferRequest dense;  // the equivalent dense all-reduce, without agreed exponents
    // Set it if input and output overlap without being the same, so that the output is not written
    // before finish(). Otherwise they must be the same or must not overlap.
    bool stages = false;
    std::optional<Rows> input_rows = {};    // replaces dense.input
    std::uint64_t output_row_elements = 0;  // not 0: the result is rows of this length
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
  };

  // Whether zeros leave the result of this reduction unchanged, so that they can be left out.
  static bool can_be_sparse(core::Reduction reduction);
  // The number of elements of the longest possible tensor of a type.
  static constexpr std::uint64_t elements_max(core::DataType dtype) {
    return SetJoin::kNumbersMax << core::ElementLayout{core::WireFormat::i32, dtype}.block_shift();
  }

  // Names the first rank whose row length differs from an earlier rank's. Rows of one element count
  // as elements with indices, so their length never counts as different.
  struct RowLengths {
    std::uint32_t rank = 0;
    std::uint32_t elements = 0;
    std::uint32_t other = 0;
    std::uint32_t other_elements = 0;
  };

  // Begins a sum. Reads the input once, to find this rank's blocks.
  void begin(const Work& work);

  // How many transfers there are, and each of them. Submit all of them at once and in this order;
  // all but the first wait for their size.
  std::uint32_t steps() const { return join_.steps() + 1; }
  core::TransferRequest step(std::uint32_t number);
  // Call these after a step is done, unless it is the last. size_after() returns the number of
  // elements of the next step. own_after() then has a bit for each of that step's blocks, which
  // says whether this rank has the block; null means that it has all.
  std::uint64_t size_after(std::uint32_t number);
  const std::uint32_t* own_after(std::uint32_t number) const {
    return number + 2 < steps() ? nullptr : own_.data();
  }
  // Known with the first size, and the same at all ranks. If it is set, nothing is summed, all
  // sizes are 0, and an output that is not staged may be cleared.
  const std::optional<RowLengths>& row_lengths_differ() const { return row_lengths_differ_; }
  // Call these after the last size is known. The results need this many bytes of memory until
  // finish(), and results in rows stay there. 0 if the results go directly to the output or there
  // are none.
  std::size_t staged_bytes() const;
  void stage(std::byte* results);
  // These replace the last step for a caller that sums the union's elements in its own way. The
  // elements lie side by side, in the order of the tensor. Requires: the tensor's layout is native,
  // the last size is known, and stage() was called.
  void copy_elements(std::byte* elements) const;
  void take_sums(const std::byte* sums);
  // Call it after the last step. When it returns, the output is the sum. Requires: row lengths do
  // not differ.
  void finish();

  // For a result in rows, after finish(): the number of rows that are not all zeros. take_rows()
  // moves their values to the beginning of the staged memory and writes their indices.
  std::uint64_t rows_found() const { return rows_found_; }
  void take_rows(std::int64_t* indices) { rows_output_.take(indices); }

  // The sizes of the union are known with the last size. blocks() counts the blocks of the whole
  // tensor.
  std::uint64_t union_blocks() const { return union_blocks_; }
  std::uint64_t union_elements() const { return union_elements_; }
  std::size_t union_bytes() const {
    return union_elements_ * element_bytes(work_.dense.layout.dtype);
  }
  std::uint64_t blocks() const { return blocks_total_; }

 private:
  template <typename Visit>
  void for_each_stretch(Visit&& visit) const;
  bool has_rows_in() const { return work_.input_rows.has_value(); }
  bool has_rows_out() const { return work_.output_row_elements > 0; }
  // Whether results go directly to an output other than the input. That output is cleared first.
  bool writes_at_once_elsewhere() const {
    return !has_rows_out() && !work_.stages && work_.dense.output != work_.dense.input;
  }
  // The codec of the last step, whose context is this sum.
  static bool encode(const void* context, const std::byte*, core::ChunkRange range,
                     const std::uint16_t* codes, std::byte* exponents, std::byte* elements);
  static void decode(void* context, std::byte*, core::ChunkRange range,
                     const core::TensorCodec::Received& received);
  std::size_t block_bytes() const;
  std::size_t output_bytes() const;
  void find_own_blocks();
  std::uint32_t own_row_length() const;
  std::uint64_t gather_blocks();
  void clear_absent();

  Work work_;
  bool has_signs_ = false;  // the input has negative zeros, which a sum makes positive
  std::uint64_t blocks_total_ = 0;
  std::uint64_t union_blocks_ = 0;
  std::uint64_t union_elements_ = 0;
  std::uint64_t rows_found_ = 0;
  std::optional<RowLengths> row_lengths_differ_;
  std::vector<std::uint32_t> found_;   // a bit for each nonzero block of the memory searched
  SetJoin join_;                       // joins this rank's blocks with the other ranks' blocks
  std::vector<std::uint32_t> blocks_;  // the blocks of the union
  std::vector<std::uint32_t> own_;     // a bit for each of these, set if this rank has the block
  Gathered input_;
  Gathered output_;
  RowsInput rows_input_;
  RowsOutput rows_output_;
};

}  // namespace infold::sparse
