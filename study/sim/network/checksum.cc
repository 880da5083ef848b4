// SPDX-License-Identifier: Apache-2.0
//
// Computes the checksum and the fingerprint, eight bytes at a time.
#include "study/sim/network/checksum.h"

#include <cstring>

#include "base/prng.h"

namespace infold::sim {
namespace {

std::uint64_t load64(const std::byte* at, std::size_t bytes = 8) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

constexpr std::uint64_t kOdd = 0x9FB21C651E98DF25ULL;

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint16_t udp_checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    const std::uint64_t word = load64(bytes.data() + at, 4);
    sum += (word & 0xFFFF) + (word >> 16);
  }
  if (at < bytes.size()) {
    const std::uint64_t rest = load64(bytes.data() + at, bytes.size() - at);
    sum += (rest & 0xFFFF) + (rest >> 16);
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

// Runs four independent chains of folded 64 x 64 -> 128-bit products. With a single chain, each
// step would wait for the multiplication before it.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t chain[4] = {seed, ~seed, seed ^ kOdd, seed + bytes.size()};
  std::size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::byte* const pair = bytes.data() + at + 16 * i;
      chain[i] = folded_product(load64(pair) ^ kOdd, load64(pair + 8) ^ chain[i]);
    }
  }
  const auto add_word = [&chain](std::size_t i, std::uint64_t word) {
    chain[i % 4] = folded_product(word ^ kOdd, chain[i % 4] ^ ~kOdd);
  };
  std::size_t i = 0;
  for (; at + 8 <= bytes.size(); at += 8) add_word(i++, load64(bytes.data() + at));
  if (at < bytes.size()) add_word(i, load64(bytes.data() + at, bytes.size() - at));
  std::uint64_t hash = 0;
  for (const std::uint64_t each : chain) hash = base::mix64(hash ^ each);
  return hash;
}

}  // namespace infold::sim
