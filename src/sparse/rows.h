// SPDX-License-Identifier: Apache-2.0
//
// A tensor that is given by some of its rows; all other rows are zeros. Row i begins at element i *
// row_elements of the dense tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/format.h"
#include "numeric/presence.h"
#include "sparse/word_set.h"

namespace infold::sparse {

struct Rows {
  core::DataType dtype = core::DataType::f32;
  std::span<const std::int64_t> indices;  // sorted, without duplicates, within the tensor
  const std::byte* values = nullptr;      // the given rows, one after another
  std::uint64_t row_elements = 1;
};

// Calls body(mask), where `mask` has the bits of an element that are 0 in every zero, so for floats
// all but the sign. The mask is an unsigned number as wide as the element, so that the compiler
// makes a loop for each width.
template <typename Body>
auto with_magnitude(core::DataType dtype, Body&& body) {
  const std::uint64_t mask = numeric::magnitude_bits(dtype);
  switch (element_bytes(dtype)) {
    case 1: return body(static_cast<std::uint8_t>(mask));
    case 2: return body(static_cast<std::uint16_t>(mask));
    case 4: return body(static_cast<std::uint32_t>(mask));
    default: return body(mask);
  }
}

// Whether any of these elements is not zero.
template <typename Word>
bool holds_anything(const std::byte* at, std::uint64_t elements, Word magnitude) {
  Word all = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    Word bits;
    std::memcpy(&bits, at + i * sizeof(Word), sizeof(Word));
    all = static_cast<Word>(all | bits);
  }
  return (all & magnitude) != 0;
}

// Finds the nonzero blocks, as numeric::find_presence() does for whole tensors. `scratch` is memory
// that is reused from call to call.
void find_presence(const Rows& rows, std::vector<std::uint32_t>& scratch, WordSet& present);

}  // namespace infold::sparse
