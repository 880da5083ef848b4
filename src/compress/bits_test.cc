// SPDX-License-Identifier: Apache-2.0
#include "compress/bits.h"

#include <gtest/gtest.h>

#include "compress/testing.h"

namespace infold::compress {
namespace {

TEST(Bits, ComeBackInOrder) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> codes;
  std::vector<std::byte> bytes;
  BitWriter writer(bytes);
  std::size_t bits = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto width = static_cast<std::uint32_t>(prng.between(1, 32));
    const auto code = static_cast<std::uint32_t>(prng.next() >> (64 - width));
    writer.put(code, width);
    codes.emplace_back(code, width);
    bits += width;
  }
  writer.finish();
  EXPECT_EQ(bytes.size(), packed_bytes(bits, 1));
  BitReader reader(bytes);
  for (const auto& [code, width] : codes) ASSERT_EQ(reader.take(width), code);
  EXPECT_TRUE(reader.is_sound());
  EXPECT_TRUE(reader.is_at_end());
}

TEST(Bits, TheFirstCodeIsInTheLowestBits) {
  std::vector<std::byte> bytes;
  BitWriter writer(bytes);
  writer.put(1, 1);
  writer.put(0b10, 2);
  writer.put(0x3FF, 10);
  writer.finish();
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0xFD}, std::byte{0x1F}}));
}

TEST(Bits, ReadingBehindTheEndIsNotSound) {
  const std::vector<std::byte> bytes(2, std::byte{0xFF});
  BitReader reader(bytes);
  EXPECT_EQ(reader.take(16), 0xFFFFU);
  EXPECT_TRUE(reader.is_sound());
  EXPECT_EQ(reader.take(1), 0U);
  EXPECT_FALSE(reader.is_sound());
}

}  // namespace
}  // namespace infold::compress
