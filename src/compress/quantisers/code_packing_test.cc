// SPDX-License-Identifier: Apache-2.0
#include "compress/quantisers/code_packing.h"

#include "compress/bits.h"
#include "compress/testing.h"

namespace infold::compress {
namespace {

std::vector<std::uint8_t> draw_codes(base::Prng& prng, std::size_t count, std::uint32_t alphabet) {
  std::vector<std::uint8_t> codes(count);
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(prng.below(alphabet));
  return codes;
}

TEST(CodePacking, KeepsAllCodesOfAllAlphabets) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (std::uint32_t alphabet = 2; alphabet <= 256; ++alphabet) {
    for (const std::size_t count : {0, 1, 4, 5, 7, 8, 9, 41}) {
      const std::vector<std::uint8_t> codes = draw_codes(prng, count, alphabet);
      std::vector<std::byte> bytes(3, std::byte{0xAB});
      pack_codes(codes, alphabet, bytes);
      ASSERT_EQ(bytes.size(), 3 + packed_codes_bytes(count, alphabet));
      EXPECT_EQ(bytes[2], std::byte{0xAB});
      std::vector<std::uint8_t> back(count, 0xCD);
      ASSERT_TRUE(unpack_codes(std::span(bytes).subspan(3), alphabet, back));
      EXPECT_EQ(back, codes) << alphabet;
    }
  }
}

TEST(CodePacking, HasTheBytesOfTheBitWriter) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (std::uint32_t bits = 1; bits <= 8; ++bits) {
    const std::vector<std::uint8_t> codes = draw_codes(prng, 77, std::uint32_t{1} << bits);
    std::vector<std::byte> expected;
    BitWriter writer(expected);
    for (const std::uint8_t code : codes) writer.put(code, bits);
    writer.finish();
    std::vector<std::byte> bytes;
    pack_codes(codes, std::uint32_t{1} << bits, bytes);
    EXPECT_EQ(bytes, expected) << bits;
  }
}

TEST(CodePacking, RefusesCodesThatAreNotOfTheAlphabet) {
  std::vector<std::uint8_t> codes(5);
  for (int value = 0; value < 256; ++value) {
    const std::vector<std::byte> bytes(1, static_cast<std::byte>(value));
    EXPECT_EQ(unpack_codes(bytes, 3, codes), value < 243) << value;
    EXPECT_EQ(unpack_codes(bytes, 200, std::span(codes).first(1)), value < 200) << value;
  }
}

TEST(CodePacking, CostsTheBitsThatItStates) {
  EXPECT_EQ(packed_codes_bytes(1000, 2), 125);
  EXPECT_EQ(packed_codes_bytes(1000, 3), 200);
  EXPECT_EQ(packed_codes_bytes(1000, 7), 375);
  EXPECT_EQ(packed_codes_bytes(1000, 256), 1000);
  EXPECT_EQ(packed_bits_of_code(3), 1.6);
  EXPECT_EQ(packed_bits_of_code(255), 8);
}

}  // namespace
}  // namespace infold::compress
