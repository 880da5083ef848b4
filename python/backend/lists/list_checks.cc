// SPDX-License-Identifier: Apache-2.0
#include "python/backend/lists/list_checks.h"

#include <c10/util/Exception.h>

namespace infold::pytorch {

void check_paired(std::size_t inputs, std::size_t outputs, const char* collective) {
  TORCH_CHECK(inputs > 0, "infold: ", collective, ": requires non-empty input tensor list");
  TORCH_CHECK(inputs == outputs, "infold: ", collective,
              ": requires input/output tensor lists to have the same length");
}

void check_one_for_each_rank(Argument argument, const TensorLists& lists, int ranks,
                             const char* collective) {
  const bool is_input = argument == Argument::input;
  TORCH_CHECK(lists.size() == 1, "infold: ", collective, ": requires a single-element ",
              is_input ? "input" : "output", " list containing a list with ", ranks, " tensors.");
  TORCH_CHECK(lists[0].size() == static_cast<std::size_t>(ranks), "infold: ", collective,
              ": Incorrect ", is_input ? "input" : "output", " list size ", lists[0].size(), ". ",
              is_input ? "Input" : "Output", " list size should be ", ranks,
              ", same as size of the process group.");
}

void check_empty(Argument argument, const TensorLists& lists, const char* collective) {
  TORCH_CHECK(lists.empty(), "infold: ", collective, ": requires empty ",
              argument == Argument::input ? "input" : "output", " on non-root");
}

void check_lists_of_ranks(const TensorLists& outputs, std::size_t inputs, int ranks,
                          const char* collective) {
  TORCH_CHECK(inputs > 0, "infold: ", collective, ": requires non-empty input tensor list");
  TORCH_CHECK(outputs.size() == static_cast<std::size_t>(ranks), "infold: ", collective,
              ": output lists should be equal to world size");
  for (const std::vector<at::Tensor>& list : outputs) {
    TORCH_CHECK(list.size() == inputs, "infold: ", collective,
                ": invalid output size: (expected length ", inputs, ", got ", list.size(), ")");
  }
}

}  // namespace infold::pytorch
