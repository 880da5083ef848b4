// SPDX-License-Identifier: Apache-2.0
#include "python/backend/tensors.h"

#include <cstddef>
#include <cstdint>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "python/backend/lists/list_checks.h"

namespace infold::pytorch {
namespace {

using ::c10d::ReduceOp;

std::optional<DataType> data_type_of_scalar(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return DataType::f32;
    case at::kHalf: return DataType::f16;
    case at::kBFloat16: return DataType::bf16;
    case at::kDouble: return DataType::f64;
    case at::kChar: return DataType::i8;
    case at::kByte: return DataType::u8;
    case at::kInt: return DataType::i32;
    case at::kLong: return DataType::i64;
    default: return std::nullopt;
  }
}

std::optional<Reduction> reduction_of(ReduceOp::RedOpType operation) {
  switch (operation) {
    case ReduceOp::SUM:
    case ReduceOp::PREMUL_SUM: return Reduction::sum;
    case ReduceOp::AVG: return Reduction::average;
    case ReduceOp::MIN: return Reduction::min;
    case ReduceOp::MAX: return Reduction::max;
    case ReduceOp::BOR: return Reduction::bit_or;
    default: return std::nullopt;
  }
}

// Sums and maxima of bools mean "any"; products and minima mean "all".
std::optional<Summing> summing_of_bools(ReduceOp::RedOpType operation) {
  switch (operation) {
    case ReduceOp::SUM:
    case ReduceOp::MAX:
    case ReduceOp::BOR: return Summing{Reduction::max, at::kByte};
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::BAND: return Summing{Reduction::min, at::kByte};
    default: return std::nullopt;
  }
}

std::optional<at::Tensor> factor_of(const ReduceOp& operation) {
  // The name with NCCL is the one that all releases of torch know.
  const auto* const supplement =
      dynamic_cast<const ::c10d::NCCLPreMulSumSupplement*>(operation.supplement_.get());
  TORCH_CHECK(supplement != nullptr, "infold: PREMUL_SUM comes without its factor");
  if (supplement->tensor_factor.defined()) return supplement->tensor_factor;
  return at::scalar_tensor(supplement->double_factor, at::kDouble);
}

}  // namespace

std::optional<Summing> summing_of(const ReduceOp& operation, at::ScalarType type) {
  if (type == at::kBool) return summing_of_bools(operation.op_);
  const std::optional<Reduction> reduction = reduction_of(operation.op_);
  if (!reduction) return std::nullopt;
  Summing summing = {*reduction, type};
  if (type == at::kShort) summing.type = at::kInt;
  if (!data_type_of_scalar(summing.type)) return std::nullopt;
  const bool is_ordered = *reduction == Reduction::min || *reduction == Reduction::max;
  summing.is_float = at::isFloatingType(type) && !is_ordered;
  if (*reduction == Reduction::average && !summing.is_float) return std::nullopt;
  if (*reduction == Reduction::bit_or && summing.is_float) return std::nullopt;
  if (operation.op_ == ReduceOp::PREMUL_SUM) summing.factor = factor_of(operation);
  return summing;
}

bool can_be_sparse(Reduction reduction) {
  return reduction != Reduction::min && reduction != Reduction::max;
}

void check_reduction(const ReduceOp& operation, at::ScalarType type, const char* collective) {
  const bool is_integer = at::isIntegralType(type, /*includeBool=*/true);
  const bool is_known = type == at::kBool || type == at::kShort || data_type_of_scalar(type);
  TORCH_CHECK(is_known, "infold: ", collective, ": the tensor is of ", type,
              ", which cannot be reduced; convert it to a type that can, such as float32");
  switch (operation.op_) {
    case ReduceOp::AVG:
      TORCH_CHECK(!is_integer, "infold: ", collective, ": the tensor is of ", type,
                  ", and only floats have averages; use SUM and divide");
      break;
    case ReduceOp::BAND:
    case ReduceOp::BOR:
    case ReduceOp::BXOR:
      TORCH_CHECK(is_integer, "infold: ", collective, ": the tensor is of ", type,
                  ", and only integers and bool have bits to combine; use SUM, MIN or MAX");
      break;
    case ReduceOp::PREMUL_SUM:
      TORCH_CHECK(type != at::kBool, "infold: ", collective,
                  ": the tensor is of bool, which cannot be multiplied with PREMUL_SUM's factor; "
                  "use SUM");
      break;
    default: break;
  }
}

Refusal refusal_of(const char* collective) {
  return [collective](const std::string& what) {
    TORCH_CHECK(false, "infold: ", collective, ": ", what);
  };
}

const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* collective) {
  ::c10d::assertSingleElement(refusal_of(collective), tensors);
  return tensors.front();
}

void check_root(std::int64_t rank, int ranks, const char* collective) {
  ::c10d::assertRootRank(refusal_of(collective), rank, ranks);
}

void check_root(std::int64_t rank, int ranks, std::int64_t tensor, std::size_t tensors,
                const char* collective) {
  check_root(rank, ranks, collective);
  ::c10d::assertRootTensor(refusal_of(collective), tensor, static_cast<std::int64_t>(tensors));
}

void check_device(const at::Tensor& tensor, const char* collective) {
  TORCH_CHECK(tensor.device().is_cpu() || tensor.device().is_cuda(), "infold: ", collective,
              ": a tensor is on ", tensor.device(), "; infold takes those on cpu and cuda");
}

void check_tensor(const at::Tensor& tensor, const char* collective) {
  TORCH_CHECK(tensor.defined(), "infold: ", collective, ": a tensor is None");
  TORCH_CHECK(tensor.layout() == at::kStrided, "infold: ", collective,
              ": invalid tensor layout (expected Strided, got ", tensor.layout(),
              "); pass a dense tensor, as tensor.to_dense() makes it");
  check_device(tensor, collective);
}

// A conjugated or negated view shares the memory of the tensor that it views.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

at::Tensor plain(const at::Tensor& tensor) {
  return tensor.resolve_conj().resolve_neg().contiguous();
}

at::Tensor network_form(const at::Tensor& tensor, at::ScalarType type,
                        const std::optional<at::Tensor>& factor) {
  const at::NoGradGuard no_grad;
  if (factor) {
    // A scalar stays on the host, because a copy to the device would wait for all work there.
    const bool is_number = factor->dim() == 0 && factor->device().is_cpu();
    const at::Tensor there = is_number ? *factor : factor->to(tensor.device());
    return plain(at::mul(tensor, there).to(type));
  }
  return plain(tensor.to(type));
}

void give_back(const at::Tensor& network, const at::Tensor& tensor) {
  if (network.is_same(tensor)) return;
  const at::NoGradGuard no_grad;
  tensor.copy_(network.view_as(tensor));
}

MutableTensorView view_of(const at::Tensor& tensor) {
  const auto elements = static_cast<std::size_t>(tensor.numel());
  if (const auto type = data_type_of_scalar(tensor.scalar_type())) {
    return {tensor.data_ptr(), elements, *type};
  }
  return {tensor.data_ptr(), elements * tensor.element_size(), DataType::u8};
}

at::Tensor rows_like(const at::Tensor& row, std::size_t rows) {
  return at::empty({static_cast<std::int64_t>(rows), row.numel()},
                   row.options().memory_format(at::MemoryFormat::Contiguous));
}

void check_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                 const char* collective) {
  for (const at::Tensor& tensor : tensors) check_tensor(tensor, collective);
  check_sizes_alike(tensors, other, collective);
}

void check_sizes_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                       const char* collective) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    TORCH_CHECK(tensor.scalar_type() == other.scalar_type(), "infold: ", collective,
                ": invalid tensor type at index ", i, " (expected ", other.scalar_type(), ", got ",
                tensor.scalar_type(), ")");
    TORCH_CHECK(tensor.numel() == other.numel(), "infold: ", collective,
                ": invalid tensor size at index ", i, " (expected ", other.sizes(), ", got ",
                tensor.sizes(), ")");
    TORCH_CHECK(tensor.device() == other.device(), "infold: ", collective,
                ": tensors should be on the same device, and one is on ", other.device(),
                " and that at index ", i, " on ", tensor.device());
  }
}

void check_parcels(const std::vector<at::Tensor>& tensors, int ranks, const char* collective) {
  TORCH_CHECK(tensors.size() == static_cast<std::size_t>(ranks), "infold: ", collective,
              ": tensor list size ", tensors.size(), " does not match world size ", ranks);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_tensor(tensors[i], collective);
    TORCH_CHECK(tensors[i].scalar_type() == tensors[0].scalar_type(), "infold: ", collective,
                ": invalid tensor type at index ", i, " (expected ", tensors[0].scalar_type(),
                ", got ", tensors[i].scalar_type(), ")");
  }
}

void check_parts(const std::vector<at::Tensor>& wholes, const std::vector<at::Tensor>& parts,
                 int ranks, const char* collective) {
  check_paired(parts.size(), wholes.size(), collective);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check_tensor(wholes[i], collective);
    check_tensor(parts[i], collective);
    TORCH_CHECK(wholes[i].numel() == parts[i].numel() * ranks, "infold: ", collective,
                ": a part has ", parts[i].numel(), " elements, the whole ", wholes[i].numel(),
                "; with ", ranks, " ranks it must have ", parts[i].numel() * ranks);
    TORCH_CHECK(wholes[i].scalar_type() == parts[i].scalar_type(), "infold: ", collective,
                ": the input and the output are of ", parts[i].scalar_type(), " and ",
                wholes[i].scalar_type(), "; they must be of one type");
    TORCH_CHECK(wholes[i].device() == parts[i].device(), "infold: ", collective,
                ": the input and the output are on ", parts[i].device(), " and ",
                wholes[i].device());
  }
}

}  // namespace infold::pytorch
