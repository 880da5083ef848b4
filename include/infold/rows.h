// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are mostly zeros, as the rows that are not: an embedding's gradient, or, with rows
// of one element, anything that is given by its indices (COO). Row i of a tensor is its elements
// i * row_elements and on, so that a tensor in rows and one that lies in memory as a whole are two
// ways to give the same thing; ranks need not choose alike, not even the length of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infold/tensor.h>

namespace infold {

namespace rank {
struct RowsMemory;
}

// Rows to read; all that are not among them are zeros, and those that are may be. Borrows both.
struct RowsView {
  std::span<const std::int64_t> indices;  // each greater than the one before, 0 to rows - 1
  TensorView values;                      // row by row, row_elements for each index
  std::size_t rows = 0;                   // of the whole tensor, with those that are zeros
  std::size_t row_elements = 1;
};

// Rows with memory of their own, for results whose size nobody knows before. Used again for the
// next result, or destroyed, it gives its memory back to the communicator that it came from, or to
// the system if that is gone. For one thread at a time.
class Rows {
 public:
  Rows();  // none
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;
  ~Rows();

  // Of rows that are not all zeros, rising.
  std::span<const std::int64_t> indices() const;
  // Row by row, row_elements() for each index.
  TensorView values() const;
  std::size_t rows() const;  // of the whole tensor
  std::size_t row_elements() const;
  operator RowsView() const { return {indices(), values(), rows(), row_elements()}; }

 private:
  friend struct rank::RowsMemory;
  std::unique_ptr<rank::RowsMemory> memory_;
};

}  // namespace infold
