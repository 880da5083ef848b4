// SPDX-License-Identifier: Apache-2.0
//
// A tensor given by some of its rows; all others are zeros. Row i is elements i * row_elements and
// on, so that this is another way to give what a dense tensor holds.
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
  std::span<const std::int64_t> indices;  // rising, within the tensor
  const std::byte* values = nullptr;      // row by row
  std::uint64_t row_elements = 1;
};

// Calls body(mask) with the bits of an element that say it is not zero, as an unsigned number of
// its width, so that loops over short rows are made for it.
template <typename Body>
auto with_magnitude(core::DataType dtype, Body&& body) {
  const std::uint64_t mask = numeric::magnitude_bits(dtype);
  switch (dtype_bytes(dtype)) {
    case 1: return body(static_cast<std::uint8_t>(mask));
    case 2: return body(static_cast<std::uint16_t>(mask));
    case 4: return body(static_cast<std::uint32_t>(mask));
    default: return body(mask);
  }
}

// Whether any of some elements is not zero.
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

// Finds what find_presence() finds of whole tensors (numeric/codec.h). `scratch` keeps its memory.
void find_presence(const Rows& rows, std::vector<std::uint32_t>& scratch, WordSet& present);

}  // namespace infold::sparse
