// SPDX-License-Identifier: Apache-2.0
//
// Converts a list of tensors to bytes and back. The bytes come from other ranks, so everything in
// them is checked.
//
//   count of tensors, then for each: type, count of sides, the sides; then the elements of each
//
// All numbers are 64-bit integers in the processor's order, as tensors' elements are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <ATen/ATen.h>

namespace infold::pytorch {

// Appends the bytes. Requires: the tensors are plain and in the host's memory.
void append_tensors(const std::vector<at::Tensor>& tensors, std::vector<std::byte>& bytes);
// Tensors with memory of their own, or nothing if the bytes do not contain a list of tensors.
std::optional<std::vector<at::Tensor>> read_tensors(std::span<const std::byte> bytes);

}  // namespace infold::pytorch
