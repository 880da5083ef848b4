// SPDX-License-Identifier: Apache-2.0
//
// Describes in a sentence how two tensors differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace infold::sim {

// Counts the elements whose bits differ, and names the first one. The text is empty if there are
// none. Requires: spans of the same length, with whole elements of at most 8 bytes.
std::string first_difference(std::span<const std::byte> got, std::span<const std::byte> expected,
                             std::uint32_t element_bytes);

}  // namespace infold::sim
