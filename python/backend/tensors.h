// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's tensors as infold sees them: what it can sum, and in which type and order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <infold/options.h>
#include <infold/tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace infold::pytorch {

// How a reduction of a tensor is done by infold.
struct Summing {
  Reduction reduction = Reduction::sum;
  at::ScalarType type = at::kFloat;       // that the elements have while they are summed
  bool is_float = false;                  // has a wire format to choose
  std::optional<at::Tensor> factor = {};  // to multiply with first
};

// Nothing if the network cannot: BAND, BXOR, products, types that infold does not know.
std::optional<Summing> summing_of(const ::c10d::ReduceOp& operation, at::ScalarType type);

// Whether zeros say nothing under it, so that they need not be sent.
bool can_be_sparse(Reduction reduction);

// Throws, naming the collective, for a reduction that nobody can do in its place either.
void check_reduction(const ::c10d::ReduceOp& operation, at::ScalarType type,
                     const char* collective);

// What is wrong at this rank alone is refused here, before any other rank hears of the call, in
// torch's words: programs and torch's own tests look for them.
using Refusal = std::function<void(const std::string&)>;
Refusal refusal_of(const char* collective);

// The one tensor that a rank passes, because it has one device.
const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* collective);

void check_root(std::int64_t rank, int ranks, const char* collective);
// Of a list of tensors, one of which is the root's.
void check_root(std::int64_t rank, int ranks, std::int64_t tensor, std::size_t tensors,
                const char* collective);

// Throws, naming the collective, for what no backend could take.
void check_device(const at::Tensor& tensor, const char* collective);
void check_tensor(const at::Tensor& tensor, const char* collective);

// Whether its memory holds the elements one after the other, as they are.
bool is_plain(const at::Tensor& tensor);
// The tensor itself if it is that, else a copy.
at::Tensor plain(const at::Tensor& tensor);

// A plain tensor of the type, for the network to read and write: the tensor itself where it
// is that already, else a copy.
at::Tensor network_form(const at::Tensor& tensor, at::ScalarType type,
                        const std::optional<at::Tensor>& factor = std::nullopt);
// Writes a result where the caller wants it, if it is not there.
void give_back(const at::Tensor& network, const at::Tensor& tensor);

// Elements of a contiguous tensor, in its own type or, where infold has none such, as bytes.
MutableTensorView view_of(const at::Tensor& tensor);

// As many rows as there are tensors, all of one size and type.
at::Tensor rows_like(const at::Tensor& row, std::size_t rows);
void check_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                 const char* collective);
// The same of tensors in any layout.
void check_sizes_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                       const char* collective);

// One tensor for each rank, of one type and any size.
void check_parcels(const std::vector<at::Tensor>& tensors, int ranks, const char* collective);

// Each of the wholes is as many parts of its own as there are ranks.
void check_parts(const std::vector<at::Tensor>& wholes, const std::vector<at::Tensor>& parts,
                 int ranks, const char* collective);

}  // namespace infold::pytorch
