// SPDX-License-Identifier: Apache-2.0
//
// Sums of sparse tensors: each rank passes its rows and receives the rows of the sum.
#include <functional>
#include <memory>
#include <utility>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <infold/rows.h>

#include "python/backend/backend.h"
#include "python/backend/sparse_rows.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;

constexpr const char* kName = "all_reduce";

// The sum of bools is "any". MAX would count missing rows as zeros, while `or` ignores them.
std::optional<Summing> summing_of_rows(const ::c10d::ReduceOp& operation, at::ScalarType type) {
  std::optional<Summing> summing = summing_of(operation, c10::toRealValueType(type));
  if (summing && type == at::kBool && summing->reduction == Reduction::max) {
    summing->reduction = Reduction::bit_or;
  }
  return summing;
}

RowsView view_of(const SparseRows& rows) {
  return {
      {rows.indices.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.indices.numel())},
      infold::pytorch::view_of(rows.values),
      static_cast<std::size_t>(rows.rows),
      static_cast<std::size_t>(rows.row_elements)};
}

// The sum's memory as a tensor, which keeps the memory alive.
at::Tensor tensor_of(const std::shared_ptr<Rows>& rows, const void* data, std::size_t elements,
                     at::ScalarType type) {
  return at::from_blob(
      const_cast<void*>(data), {static_cast<std::int64_t>(elements)}, [rows](void*) {},
      at::TensorOptions(type).device(at::kCPU));
}

// Makes the rows and puts them into the tensors, whatever autograd modes the waiting thread has
// set. Copies to a device run on the caller's stream. They are complete when this function returns.
void give_rows(const std::vector<at::Tensor>& tensors, const std::optional<c10::Stream>& stream,
               const std::function<SparseRows()>& make) {
  const c10::InferenceMode outside(false);
  const at::NoGradGuard no_grad;
  std::optional<c10::StreamGuard> on_stream;
  if (stream) on_stream.emplace(*stream);
  const SparseRows rows = make();
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    replace_rows(tensors[i], rows.indices.clone(), rows.values.clone());
  }
  replace_rows(tensors[0], rows.indices, rows.values);
}

Step step_of_rows(const std::vector<at::Tensor>& tensors, const std::optional<c10::Stream>& stream,
                  const SparseRows& rows, const CallOptions& call) {
  const auto sum = std::make_shared<Rows>();
  const auto begin = [rows, sum, call](Communicator& communicator) {
    return communicator.all_reduce(view_of(rows), *sum, call);
  };
  const auto end = [tensors, stream, sum, type = rows.values.scalar_type()] {
    give_rows(tensors, stream, [&]() -> SparseRows {
      const auto indices = sum->indices();
      const TensorView values = sum->values();
      return {tensor_of(sum, indices.data(), indices.size(), at::kLong),
              tensor_of(sum, values.data, values.elements, type)};
    });
  };
  return {{}, begin, end};
}

// For fixed32, which needs all elements: makes a dense sum, and then takes its nonzero rows.
Step step_of_all_rows(const std::vector<at::Tensor>& tensors,
                      const std::optional<c10::Stream>& stream, const SparseRows& rows,
                      const CallOptions& call) {
  const SparseRows all = all_rows(rows);
  const auto begin = [all, call](Communicator& communicator) {
    return communicator.all_reduce(infold::pytorch::view_of(all.values), call);
  };
  const auto end = [tensors, stream, all] {
    give_rows(tensors, stream, [&] { return nonzero_rows(all); });
  };
  return {{}, begin, end};
}

// The sum of this rank's list. The call then replaces each of its tensors by the sum of all tensors
// of all ranks.
at::Tensor sum_of_list(const std::vector<at::Tensor>& tensors, const ::c10d::ReduceOp& operation) {
  if (tensors.size() == 1) return tensors[0];
  TORCH_CHECK(operation == ::c10d::ReduceOp::SUM, "infold: ", kName,
              ": unsupported reduction operation: a list of sparse tensors can only be reduced by "
              "SUM; pass one tensor");
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.defined(), "infold: ", kName, ": a tensor is None");
    TORCH_CHECK(tensor.is_sparse(), "infold: ", kName, ": invalid tensor layout (expected Sparse, ",
                "got ", tensor.layout(), ")");
  }
  check_sizes_alike(tensors, tensors[0], kName);
  at::Tensor sum = tensors[0];
  for (std::size_t i = 1; i < tensors.size(); ++i) sum = at::add(sum, tensors[i]);
  return sum;
}

std::optional<c10::Stream> current_stream_of(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) return std::nullopt;
  return c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device());
}

}  // namespace

Backend::Works Backend::allreduce_sparse(Tensors& tensors,
                                         const ::c10d::AllreduceOptions& options) {
  return allreduce_as(tensors, options, {});
}

Backend::Works Backend::allreduce_rows(Tensors& tensors, const ::c10d::AllreduceOptions& options,
                                       const Travel& travel) {
  const at::Tensor tensor = sum_of_list(tensors, options.reduceOp);
  check_device(tensor, kName);
  const std::optional<Summing> summing = summing_of_rows(options.reduceOp, tensor.scalar_type());
  if (!summing) check_reduction(options.reduceOp, tensor.scalar_type(), kName);
  TORCH_CHECK(summing && can_be_sparse(summing->reduction), "infold: ", kName,
              ": unsupported reduction operation: this operation counts zeros, and a sparse tensor "
              "leaves them out; use SUM, AVG of floats or BOR of integers, or pass "
              "tensor.to_dense()");
  const SparseRows rows = rows_of(tensor, summing->type, summing->factor);
  const std::optional<c10::Stream> stream = current_stream_of(tensor);
  Recipe recipe = {OpType::ALLREDUCE, "infold:all_reduce", tensors, tensors};
  recipe.alone = [tensors, stream, rows] {
    give_rows(tensors, stream, [&] { return nonzero_rows(rows); });
  };
  CallOptions call = sum_options(*summing, travel, options.timeout);
  call.layout = Layout::dense;  // the option chooses a layout for dense memory only
  if (size_ > 1) {
    recipe.steps.push_back(needs_all_elements(*summing, travel)
                               ? step_of_all_rows(tensors, stream, rows, call)
                               : step_of_rows(tensors, stream, rows, call));
  }
  return submit(std::move(recipe), options.timeout);
}

}  // namespace infold::pytorch
