// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's sparse tensors (COO) in the network's form: some rows of a dense tensor, whose other
// rows are zeros. The dense dimensions make up a row, and the sparse dimensions number the rows. A
// tensor without dense dimensions has rows of one element.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/ATen.h>

namespace infold::pytorch {

struct SparseRows {
  at::Tensor indices;     // int64, sorted, without duplicates
  at::Tensor values;      // plain, on the host: a row for each index
  std::int64_t rows = 0;  // rows of the dense tensor
  std::int64_t row_elements = 0;
};

// The coalesced rows in the type that the network sums. Shares the tensor's memory if possible.
SparseRows rows_of(const at::Tensor& tensor, at::ScalarType type,
                   const std::optional<at::Tensor>& factor);

// All rows of the dense tensor, including the rows of zeros.
SparseRows all_rows(const SparseRows& rows);

// The rows with an element that is not zero, as a sparse sum returns them.
SparseRows nonzero_rows(SparseRows rows);

// Replaces the tensor's rows, converted to its type and device.
void replace_rows(const at::Tensor& tensor, const at::Tensor& indices, const at::Tensor& values);

}  // namespace infold::pytorch
