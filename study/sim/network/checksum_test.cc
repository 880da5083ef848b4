// SPDX-License-Identifier: Apache-2.0
//
// Compares the checksum with the one in RFC 1071, and tests that it finds every short burst.
#include "study/sim/network/checksum.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "study/sim/network/faults.h"

namespace infold::sim {
namespace {

std::vector<std::byte> some_bytes(std::size_t count, std::uint64_t seed) {
  base::Prng prng(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  return bytes;
}

// Follows section 2 of RFC 1071, word by word. It works in network order, which only swaps the
// bytes of the result.
std::uint16_t by_the_book(const std::vector<std::byte>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    sum += std::to_integer<std::uint32_t>(bytes[at]) << 8;
    if (at + 1 < bytes.size()) sum += std::to_integer<std::uint32_t>(bytes[at + 1]);
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

TEST(UdpChecksum, IsTheOneOfRfc1071) {
  for (std::size_t count = 0; count < 70; ++count) {
    const auto bytes = some_bytes(count, count);
    EXPECT_EQ(__builtin_bswap16(udp_checksum(bytes)), by_the_book(bytes)) << count << " bytes";
  }
}

TEST(UdpChecksum, FindsEveryBurstOfUpTo15Bits) {
  const auto original = some_bytes(9, 1);
  const std::uint16_t expected = udp_checksum(original);
  for (std::uint32_t first = 0; first < 9 * 8; ++first) {
    for (std::uint32_t pattern = 1; pattern < 1U << kDamageBitsMax; pattern += 2) {
      auto damaged = original;
      for (std::uint32_t i = 0; i < kDamageBitsMax && first + i < 9 * 8; ++i) {
        const std::uint32_t bit = first + i;
        if ((pattern >> i & 1) != 0) damaged[bit / 8] ^= std::byte{1} << (bit % 8);
      }
      ASSERT_NE(udp_checksum(damaged), expected) << "pattern " << pattern << " at bit " << first;
    }
  }
}

TEST(HashBytes, DependsOnEveryBitOnLengthAndOnSeed) {
  auto bytes = some_bytes(77, 5);
  const std::uint64_t hash = hash_bytes(bytes, 9);
  EXPECT_NE(hash_bytes(bytes, 10), hash);
  EXPECT_NE(hash_bytes(std::span(bytes).first(76), 9), hash);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(hash_bytes(bytes, 9), hash) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace infold::sim
