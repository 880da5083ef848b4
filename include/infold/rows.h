// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are mostly zeros, such as an embedding's gradient, can be given as the rows that are
// not zeros. With rows of one element, this is a tensor given by its indices (COO). Row i of a
// tensor has row_elements elements, beginning with element i * row_elements. One rank may give its
// tensor as rows and another as a whole. Ranks that give rows of more than one element must give
// rows of the same length.
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

// Rows to read. All other rows of the tensor are zeros, and listed rows may be zeros as well. The
// view borrows indices and values.
struct RowsView {
  std::span<const std::int64_t> indices;  // strictly rising, from 0 to rows - 1
  TensorView values;                      // row by row, row_elements for each index
  std::size_t rows = 0;                   // all rows of the tensor, also rows of zeros
  std::size_t row_elements = 1;
};

// Rows that own their memory, for a result whose size is not known in advance. When the object gets
// its next result, or is destroyed, its memory goes back to the communicator. If the communicator
// is gone, the memory goes back to the system. Only one thread at a time may use the object.
class Rows {
 public:
  Rows();  // none
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;
  ~Rows();

  // Returns the indices of the rows that are not all zeros, in rising order.
  std::span<const std::int64_t> indices() const;
  // Returns the values row by row, row_elements() for each index.
  TensorView values() const;
  std::size_t rows() const;  // all rows of the tensor
  std::size_t row_elements() const;
  operator RowsView() const { return {indices(), values(), rows(), row_elements()}; }

 private:
  friend struct rank::RowsMemory;
  std::unique_ptr<rank::RowsMemory> memory_;
};

}  // namespace infold
