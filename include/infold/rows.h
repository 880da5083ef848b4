// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are mostly zeros, given by the rows that are not. An example is an embedding's
// gradient. With rows of one element, this is a tensor given by its indices (COO). Row i of a
// tensor is its row_elements elements from i * row_elements on. So one tensor can be given as rows
// or as a whole, and ranks need not choose alike. Only rows of more than one element must have the
// same length at all ranks that give such rows.
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

// Rows to read. Rows that are not among them are zeros. Rows among them may be zeros, too. Borrows
// indices and values.
struct RowsView {
  std::span<const std::int64_t> indices;  // each greater than the one before, 0 to rows - 1
  TensorView values;                      // row by row, row_elements for each index
  std::size_t rows = 0;                   // of the whole tensor, rows of zeros included
  std::size_t row_elements = 1;
};

// Rows with memory of their own, for a result whose size is not known before. When it is used for
// the next result, or destroyed, its memory goes back to the communicator. If that is gone, the
// memory goes back to the system. For one thread at a time.
class Rows {
 public:
  Rows();  // none
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;
  ~Rows();

  // Indices of the rows that are not all zeros, in rising order.
  std::span<const std::int64_t> indices() const;
  // Values row by row, row_elements() for each index.
  TensorView values() const;
  std::size_t rows() const;  // of the whole tensor
  std::size_t row_elements() const;
  operator RowsView() const { return {indices(), values(), rows(), row_elements()}; }

 private:
  friend struct rank::RowsMemory;
  std::unique_ptr<rank::RowsMemory> memory_;
};

}  // namespace infold
