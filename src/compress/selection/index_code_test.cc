// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/index_code.h"

#include <numeric>

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

using Indices = std::vector<std::uint32_t>;

// Draws each element with probability `part`.
Indices draw_indices(base::Prng& prng, std::size_t elements, double part) {
  Indices indices;
  for (std::size_t i = 0; i < elements; ++i) {
    if (prng.chance(part)) indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

std::vector<std::byte> code_of(const Indices& indices, std::size_t elements) {
  std::vector<std::byte> code;
  append_indices(indices, elements, code);
  return code;
}

bool reads(const std::vector<std::byte>& code, std::size_t elements, std::size_t count) {
  Indices indices(count);
  return read_indices(code, elements, indices);
}

// Follows the formula of the header, bit by bit.
std::vector<std::byte> slow_code(Indices indices, std::size_t elements) {
  if (2 * indices.size() > elements) {
    Indices others;
    for (std::uint32_t i = 0; i < elements; ++i) {
      if (!std::binary_search(indices.begin(), indices.end(), i)) others.push_back(i);
    }
    indices = others;
  }
  const auto n = static_cast<double>(elements);
  const auto k = static_cast<double>(indices.size());
  const double size = k > 0 ? std::floor(77 * (2 * n - k) / (160 * k)) : 0;
  std::size_t low = 0;
  while (std::exp2(static_cast<double>(low + 1)) <= size) ++low;
  std::vector<bool> bits;
  std::size_t next = 0;
  for (const std::uint32_t index : indices) {
    const std::size_t gap = index - next;
    for (std::size_t i = 0; i < gap / (std::size_t{1} << low); ++i) bits.push_back(false);
    bits.push_back(true);
    for (std::size_t i = 0; i < low; ++i) bits.push_back((gap >> i) % 2 == 1);
    next = index + 1;
  }
  std::vector<std::byte> code((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) code[i / 8] |= std::byte{1} << (i % 8);
  }
  return code;
}

TEST(IndexCode, IsTheFormulaAndComesBack) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::size_t elements : {0, 1, 2, 7, 64, 1000, 40000}) {
    for (const double part : {0.0, 0.0003, 0.01, 0.3, 0.5, 0.9, 1.0}) {
      const Indices indices = draw_indices(prng, elements, part);
      const std::vector<std::byte> code = code_of(indices, elements);
      EXPECT_EQ(code, slow_code(indices, elements)) << elements << " " << part;
      Indices read(indices.size());
      EXPECT_TRUE(read_indices(code, elements, read));
      EXPECT_EQ(read, indices);
    }
  }
}

TEST(IndexCode, TakesTheLastOfManyElements) {
  constexpr std::size_t kElements = 0xFFFFFFFF;
  const Indices indices = {0, 0xFFFFFFFE};
  Indices read(2);
  EXPECT_TRUE(read_indices(code_of(indices, kElements), kElements, read));
  EXPECT_EQ(read, indices);
}

TEST(IndexCode, IsNearTheEntropy) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  constexpr std::size_t kElements = 1000000;
  for (const double part : {0.0005, 0.001, 0.0015, 0.01, 0.03, 0.1, 0.4, 0.6, 0.97}) {
    const Indices indices = draw_indices(prng, kElements, part);
    const auto bytes = static_cast<double>(code_of(indices, kElements).size());
    EXPECT_LE(bytes, bytes_most(indices.size(), kElements, 0)) << part;
  }
}

TEST(IndexCode, IsBoundedHoweverIndicesLie) {
  constexpr std::size_t kElements = 100000;
  for (const std::size_t count : {1, 10, 1000, 40000, 50000}) {
    Indices indices(count);
    std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(kElements - count));
    const std::uint32_t low = rice_bits(count, kElements);
    EXPECT_LE(8 * code_of(indices, kElements).size(), count * (low + 1) + (kElements >> low) + 7);
  }
}

TEST(IndexCode, NoCountOfIndicesHasALongerCodeThanTheLimit) {
  for (const std::size_t elements : {1, 2, 3, 8, 61, 1000}) {
    for (std::size_t count = 0; count <= elements; ++count) {
      Indices indices(count);  // the last elements, so that the first gap is the largest
      std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(elements - count));
      EXPECT_LE(code_of(indices, elements).size(), indices_bytes_max(elements)) << count;
    }
  }
}

TEST(IndexCode, RefusesWhatIsNoCode) {
  constexpr std::size_t kElements = 1000;
  const Indices indices = {3, 500, 501, 999};
  const std::vector<std::byte> code = code_of(indices, kElements);
  ASSERT_TRUE(reads(code, kElements, 4));
  EXPECT_FALSE(reads(code, kElements - 1, 4)) << "an index past the end";
  std::vector<std::byte> other = code;
  other.push_back(std::byte{0});
  EXPECT_FALSE(reads(other, kElements, 4)) << "a byte left over";
  other = code;
  other.pop_back();
  EXPECT_FALSE(reads(other, kElements, 4)) << "a byte missing";
  EXPECT_FALSE(reads(std::vector<std::byte>(5000), kElements, 4)) << "a run without an end";
  EXPECT_FALSE(reads({}, kElements, 1)) << "no bytes";
  // With 4 of 9 elements, each gap of 0 is a one bit, and zeros fill the byte.
  EXPECT_TRUE(reads({std::byte{0x0F}}, 9, 4));
  EXPECT_FALSE(reads({std::byte{0x1F}}, 9, 4)) << "a bit left over";
  EXPECT_TRUE(reads({}, 9, 9));
  EXPECT_FALSE(reads({std::byte{0}}, 9, 9)) << "all elements, and a byte left over";
}

}  // namespace
}  // namespace infold::compress
