// SPDX-License-Identifier: Apache-2.0
#include "python/backend/sparse_rows.h"

#include <vector>

#include <ATen/native/SparseTensorUtils.h>

#include "python/backend/tensors.h"

namespace infold::pytorch {
namespace {

at::IntArrayRef sparse_sizes(const at::Tensor& tensor) {
  return tensor.sizes().slice(0, static_cast<std::size_t>(tensor.sparse_dim()));
}

at::IntArrayRef dense_sizes(const at::Tensor& tensor) {
  return tensor.sizes().slice(static_cast<std::size_t>(tensor.sparse_dim()));
}

// Converts a row's number to its index in each sparse dimension.
at::Tensor unflattened(const at::Tensor& indices, at::IntArrayRef sizes) {
  const auto dimensions = static_cast<std::int64_t>(sizes.size());
  if (dimensions == 1) return indices.unsqueeze(0);
  const std::int64_t count = indices.numel();
  at::Tensor places = at::empty({dimensions, count}, indices.options());
  const auto* const from = indices.const_data_ptr<std::int64_t>();
  auto* const to = places.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = from[i];
    for (std::int64_t dimension = dimensions; dimension-- > 0;) {
      const std::int64_t size = sizes[static_cast<std::size_t>(dimension)];
      to[dimension * count + i] = rest % size;
      rest /= size;
    }
  }
  return places;
}

}  // namespace

SparseRows rows_of(const at::Tensor& tensor, at::ScalarType type,
                   const std::optional<at::Tensor>& factor) {
  const at::NoGradGuard no_grad;
  const at::Tensor host = tensor.detach().cpu().coalesce();
  SparseRows rows;
  rows.rows = c10::multiply_integers(sparse_sizes(tensor));
  rows.row_elements = c10::multiply_integers(dense_sizes(tensor));
  rows.indices = at::sparse::flatten_indices(host._indices(), host.sizes()).contiguous();
  at::Tensor values = host._values();
  if (values.is_complex()) {
    values = at::view_as_real(values.resolve_conj());
    rows.row_elements *= 2;
  }
  rows.values = network_form(values, type, factor);
  // Rows without elements do not hold data, so no row is needed.
  if (rows.row_elements == 0) return {at::zeros({0}, at::kLong), rows.values.flatten(), 0, 1};
  return rows;
}

SparseRows all_rows(const SparseRows& rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor whole = at::zeros({rows.rows, rows.row_elements}, rows.values.options());
  whole.index_copy_(0, rows.indices, rows.values.reshape({-1, rows.row_elements}));
  return {at::arange(rows.rows, at::kLong), whole, rows.rows, rows.row_elements};
}

SparseRows nonzero_rows(SparseRows rows) {
  const at::NoGradGuard no_grad;
  const std::int64_t count = rows.indices.numel();
  const at::Tensor kept = rows.values.reshape({count, rows.row_elements}).ne(0).any(1);
  rows.indices = rows.indices.masked_select(kept);
  rows.values = rows.values.index({kept});
  return rows;
}

void replace_rows(const at::Tensor& tensor, const at::Tensor& indices, const at::Tensor& values) {
  std::vector<std::int64_t> shape = {indices.numel()};
  const at::IntArrayRef row = dense_sizes(tensor);
  shape.insert(shape.end(), row.begin(), row.end());
  at::Tensor own = values;
  if (tensor.is_complex()) own = at::view_as_complex(values.view({-1, 2}));
  at::sparse::alias_into_sparse(tensor,
                                unflattened(indices, sparse_sizes(tensor)).to(tensor.device()),
                                own.to(tensor._values().options()).view(shape));
  at::sparse::get_sparse_impl(tensor)->set_coalesced(true);
  if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

}  // namespace infold::pytorch
