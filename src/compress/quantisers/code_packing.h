// SPDX-License-Identifier: Apache-2.0
//
// Packs codes of an alphabet of 2 to 256 codes. With an alphabet of three, five codes share a byte,
// because 3^5 is below 256. With any other alphabet, a code has a whole number of bits, and codes
// lie without gaps in the order of compress/bits.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::compress {

constexpr std::uint32_t bits_of_alphabet(std::uint32_t alphabet) {
  return static_cast<std::uint32_t>(std::bit_width(alphabet - 1));
}
// How many bits a code takes on average.
constexpr double packed_bits_of_code(std::uint32_t alphabet) {
  return alphabet == 3 ? 8.0 / 5 : bits_of_alphabet(alphabet);
}
constexpr std::size_t packed_codes_bytes(std::size_t codes, std::uint32_t alphabet) {
  return alphabet == 3 ? (codes + 4) / 5 : (codes * bits_of_alphabet(alphabet) + 7) / 8;
}

// Appends the packed codes to `bytes`. Requires: each code is below `alphabet`.
void pack_codes(std::span<const std::uint8_t> codes, std::uint32_t alphabet,
                std::vector<std::byte>& bytes);
// Returns false if a code is not in the alphabet. Requires: bytes.size() is packed_codes_bytes().
bool unpack_codes(std::span<const std::byte> bytes, std::uint32_t alphabet,
                  std::span<std::uint8_t> codes);

}  // namespace infold::compress
