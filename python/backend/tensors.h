// SPDX-License-Identifier: Apache-2.0
//
// Describes PyTorch's tensors in infold's terms: what infold can sum and in which type. Also checks
// arguments.
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

// How infold does a reduction of a tensor.
struct Summing {
  Reduction reduction = Reduction::sum;
  at::ScalarType type = at::kFloat;       // the type in which the elements are summed
  bool is_float = false;                  // travels in a wire format that can be chosen
  std::optional<at::Tensor> factor = {};  // multiplies the elements first
};

// Returns nothing if the network cannot do the reduction: BAND, BXOR, products, and types that
// infold does not know.
std::optional<Summing> summing_of(const ::c10d::ReduceOp& operation, at::ScalarType type);

// Whether zeros do not change the result, so that they can be left out.
bool can_be_sparse(Reduction reduction);

// Throws for a reduction that the delegate cannot do either. The message names the collective.
void check_reduction(const ::c10d::ReduceOp& operation, at::ScalarType type,
                     const char* collective);

// Reports arguments that are wrong at this rank, before any other rank hears of the call. The
// messages have torch's wording, because programs and torch's own tests look for it.
using Refusal = std::function<void(const std::string&)>;
Refusal refusal_of(const char* collective);

// The only tensor of the list. A rank has one device, so it must pass one tensor.
const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* collective);

void check_root(std::int64_t rank, int ranks, const char* collective);
// For a list of tensors, one of which is the root's source or destination.
void check_root(std::int64_t rank, int ranks, std::int64_t tensor, std::size_t tensors,
                const char* collective);

// These throw for tensors that no backend accepts. The messages name the collective.
void check_device(const at::Tensor& tensor, const char* collective);
void check_tensor(const at::Tensor& tensor, const char* collective);

// Whether the elements lie one after the other in memory, neither conjugated nor negated.
bool is_plain(const at::Tensor& tensor);
// The tensor itself if it is plain, otherwise a plain copy.
at::Tensor plain(const at::Tensor& tensor);

// A plain tensor of this type, for the network to read and write: the tensor itself if it already
// has this form, otherwise a copy.
at::Tensor network_form(const at::Tensor& tensor, at::ScalarType type,
                        const std::optional<at::Tensor>& factor = std::nullopt);
// Copies a result into the caller's tensor, unless it is already there.
void give_back(const at::Tensor& network, const at::Tensor& tensor);

// The elements of a contiguous tensor, in its own type, or as bytes if infold does not have the
// type.
MutableTensorView view_of(const at::Tensor& tensor);

// An uninitialized tensor of `rows` rows, each of this row's size and type.
at::Tensor rows_like(const at::Tensor& row, std::size_t rows);
void check_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                 const char* collective);
// The same for tensors of any layout.
void check_sizes_alike(const std::vector<at::Tensor>& tensors, const at::Tensor& other,
                       const char* collective);

// Requires one tensor for each rank, all of one type, of any sizes.
void check_parcels(const std::vector<at::Tensor>& tensors, int ranks, const char* collective);

// Requires that each whole has the size of its part times the number of ranks.
void check_parts(const std::vector<at::Tensor>& wholes, const std::vector<at::Tensor>& parts,
                 int ranks, const char* collective);

}  // namespace infold::pytorch
