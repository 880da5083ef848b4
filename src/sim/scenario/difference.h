// SPDX-License-Identifier: Apache-2.0
//
// The sentence that tells how two tensors differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace infold::sim {

// Counts the elements whose bits differ, and names the first one. Empty: there is none.
// Requires: spans of one length, in whole elements of at most 8 bytes.
std::string first_difference(std::span<const std::byte> got, std::span<const std::byte> expected,
                             std::uint32_t element_bytes);

}  // namespace infold::sim
