// SPDX-License-Identifier: Apache-2.0
#include "compress/quantisers/code_packing.h"

#include <algorithm>

namespace infold::compress {
namespace {

constexpr std::size_t kTrits = 5;
constexpr std::uint32_t kTritBytes = 243;  // 3^5
constexpr std::size_t kGroup = 8;          // 8 codes of any width fill whole bytes

void pack_trits(std::span<const std::uint8_t> codes, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto group = codes.subspan(i * kTrits, std::min(kTrits, codes.size() - i * kTrits));
    std::uint32_t value = 0;
    for (std::size_t k = group.size(); k-- > 0;) value = value * 3 + group[k];
    bytes[i] = static_cast<std::byte>(value);
  }
}

bool unpack_trits(std::span<const std::byte> bytes, std::span<std::uint8_t> codes) {
  bool is_sound = true;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto group = codes.subspan(i * kTrits, std::min(kTrits, codes.size() - i * kTrits));
    auto value = static_cast<std::uint32_t>(bytes[i]);
    is_sound = is_sound && value < kTritBytes;
    for (std::uint8_t& code : group) {
      code = static_cast<std::uint8_t>(value % 3);
      value /= 3;
    }
  }
  return is_sound;
}

}  // namespace

void pack_codes(std::span<const std::uint8_t> codes, std::uint32_t alphabet,
                std::vector<std::byte>& bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(before + packed_codes_bytes(codes.size(), alphabet));
  const std::span<std::byte> out = std::span(bytes).subspan(before);
  if (alphabet == 3) return pack_trits(codes, out);
  const std::uint32_t bits = bits_of_alphabet(alphabet);
  for (std::size_t first = 0, at = 0; first < codes.size(); first += kGroup, at += bits) {
    const auto group = codes.subspan(first, std::min(kGroup, codes.size() - first));
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < group.size(); ++k) word |= std::uint64_t{group[k]} << (k * bits);
    const std::size_t size = std::min<std::size_t>(bits, out.size() - at);
    for (std::size_t k = 0; k < size; ++k) out[at + k] = static_cast<std::byte>(word >> (8 * k));
  }
}

bool unpack_codes(std::span<const std::byte> bytes, std::uint32_t alphabet,
                  std::span<std::uint8_t> codes) {
  if (alphabet == 3) return unpack_trits(bytes, codes);
  const std::uint32_t bits = bits_of_alphabet(alphabet);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t first = 0, at = 0; first < codes.size(); first += kGroup, at += bits) {
    const auto group = codes.subspan(first, std::min(kGroup, codes.size() - first));
    const std::size_t size = std::min<std::size_t>(bits, bytes.size() - at);
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < size; ++k) {
      word |= static_cast<std::uint64_t>(bytes[at + k]) << (8 * k);
    }
    for (std::size_t k = 0; k < group.size(); ++k) {
      group[k] = static_cast<std::uint8_t>((word >> (k * bits)) & mask);
    }
  }
  return std::all_of(codes.begin(), codes.end(),
                     [alphabet](std::uint8_t code) { return code < alphabet; });
}

}  // namespace infold::compress
