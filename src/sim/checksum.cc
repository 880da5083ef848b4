// SPDX-License-Identifier: Apache-2.0
//
// Checksum and fingerprint, eight bytes at a time.
#include "sim/checksum.h"

#include <cstring>

#include "base/prng.h"

namespace infold::sim {
namespace {

std::uint64_t load64(const std::byte* at, std::size_t bytes = 8) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
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

// Four independent chains: one would wait for its own multiplication at every word.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  constexpr std::uint64_t kOdd = 0x9FB21C651E98DF25ULL;
  std::uint64_t chain[4] = {seed, ~seed, seed ^ kOdd, seed + bytes.size()};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t mixed = (chain[i] ^ load64(bytes.data() + at + 8 * i)) * kOdd;
      chain[i] = mixed ^ (mixed >> 29);
    }
  }
  for (std::size_t i = 0; at < bytes.size(); at += 8, ++i) {
    const std::size_t rest = bytes.size() - at < 8 ? bytes.size() - at : 8;
    chain[i] = (chain[i] ^ load64(bytes.data() + at, rest)) * kOdd;
  }
  return base::mix64(chain[0] ^
                     base::mix64(chain[1] ^ base::mix64(chain[2] ^ base::mix64(chain[3]))));
}

}  // namespace infold::sim
