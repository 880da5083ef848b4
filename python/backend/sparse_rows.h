// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's sparse tensors (COO) as the network sees them: some rows of a dense tensor, of which
// all others are zeros. A tensor's dense dimensions make up a row, its sparse ones number them; one
// without dense dimensions has rows of one element.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/ATen.h>

namespace infold::pytorch {

struct SparseRows {
  at::Tensor indices;     // int64, rising
  at::Tensor values;      // plain, on the host: a row for each index
  std::int64_t rows = 0;  // of the dense tensor
  std::int64_t row_elements = 0;
};

// Coalesced, in the type that the network sums. Shares memory with the tensor where it can.
SparseRows rows_of(const at::Tensor& tensor, at::ScalarType type,
                   const std::optional<at::Tensor>& factor);

// With those that are zeros.
SparseRows all_rows(const SparseRows& rows);

// Those of the rows that are not zeros; what a sum would leave of them.
SparseRows nonzero_rows(SparseRows rows);

// Makes these what the tensor holds, in its own type and on its own device.
void replace_rows(const at::Tensor& tensor, const at::Tensor& indices, const at::Tensor& values);

}  // namespace infold::pytorch
