// SPDX-License-Identifier: Apache-2.0
//
// The scalar search for the blocks of a tensor that are not all zeros.
#include "numeric/presence.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {

bool scalar_find_presence(core::DataType dtype, const std::byte* tensor, std::uint64_t elements,
                          std::uint32_t* words, std::byte* cleared) {
  const std::uint32_t block_elements = presence_block_elements(dtype);
  const std::uint64_t blocks = (elements + block_elements - 1) / block_elements;
  std::fill_n(words, (blocks + 31) / 32, 0U);
  if (cleared != nullptr) std::fill_n(cleared, elements * element_bytes(dtype), std::byte{0});
  return find_presence_from(0, dtype, tensor, elements, words);
}

}  // namespace infold::numeric
