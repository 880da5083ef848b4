// SPDX-License-Identifier: Apache-2.0
//
// Checks of the lists that collectives take, and the type of a collective of lists. Only some
// releases of torch have such checks and that type, and the backend compiles against all of them.
// Each check throws at this rank, before any other rank hears of the call. The messages have
// torch's wording, like those of tensors.h.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace infold::pytorch {

using TensorLists = std::vector<std::vector<at::Tensor>>;

// Requires as many outputs as inputs, and at least one.
void check_paired(std::size_t inputs, std::size_t outputs, const char* collective);

// Which argument of a collective a list is. Messages contain its name.
enum class Argument { input, output };

// Requires one list, with a tensor for each rank.
void check_one_for_each_rank(Argument argument, const TensorLists& lists, int ranks,
                             const char* collective);

// Requires that a rank which is not the root passes no list.
void check_empty(Argument argument, const TensorLists& lists, const char* collective);

// Requires a list for each rank, each with a tensor for each input.
void check_lists_of_ranks(const TensorLists& outputs, std::size_t inputs, int ranks,
                          const char* collective);

// The type of a reduce-scatter of lists. Releases of torch before 2.13 do not have a separate type
// for it.
template <typename OpType>
constexpr OpType list_reduce_scatter() {
  if constexpr (requires { OpType::REDUCE_SCATTER_TENSOR_COALESCED; }) {
    return OpType::REDUCE_SCATTER_TENSOR_COALESCED;
  } else {
    return OpType::COALESCED;
  }
}
inline constexpr ::c10d::OpType kListReduceScatter = list_reduce_scatter<::c10d::OpType>();

}  // namespace infold::pytorch
