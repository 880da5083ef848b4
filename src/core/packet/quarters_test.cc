// SPDX-License-Identifier: Apache-2.0
//
// Chunks that are written in quarters are read back unchanged, and bodies that cannot have been
// written so are refused.
#include "core/packet/quarters.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::core {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ElementLayout kLayouts[] = {
    {WireFormat::bfp8, DataType::f32},  {WireFormat::bfp16, DataType::bf16},
    {WireFormat::bfp32, DataType::f32}, {WireFormat::bfp8, DataType::f64},
    {WireFormat::bfp16, DataType::f64}, {WireFormat::bfp32, DataType::f64},
    {WireFormat::i8, DataType::u8},     {WireFormat::i16, DataType::f16},
    {WireFormat::i32, DataType::i32},   {WireFormat::i64, DataType::i64},
    {WireFormat::i64, DataType::f64}};

// Some blocks of a chunk side by side, in which some quarters are not zeros.
struct Chunk {
  Chunk(ElementLayout chunk_layout, std::uint32_t chunk_elements, base::Prng& prng)
      : layout(chunk_layout), elements(chunk_elements) {
    const std::uint32_t quarter = layout.block_elements() / 4;
    const double block_share = static_cast<double>(prng.below(5)) / 4;
    const double quarter_share = static_cast<double>(prng.below(5)) / 4;
    for (std::uint32_t block = 0; block < layout.block_count(elements); ++block) {
      if (!prng.chance(block_share)) continue;
      blocks.insert(block);
      const std::uint32_t first = block * layout.block_elements();
      const std::uint32_t size = std::min(layout.block_elements(), elements - first);
      Bytes values(std::size_t{size} * layout.element_bytes());
      bool is_kept = false;
      for (std::uint32_t at = 0; at < size; at += quarter) {
        if (!prng.chance(quarter_share)) continue;
        // Sets one byte anywhere in the quarter.
        const std::uint32_t bytes = std::min(quarter, size - at) * layout.element_bytes();
        values[at * layout.element_bytes() + prng.below(bytes)] = std::byte{0x80};
        kept_elements += bytes / layout.element_bytes();
        is_kept = true;
      }
      kept_blocks += is_kept;
      held.insert(held.end(), values.begin(), values.end());
      std::memcpy(&whole_elements[std::size_t{first} * layout.element_bytes()], values.data(),
                  values.size());
      if (!layout.is_block_float()) continue;
      for (std::uint32_t i = 0; i < layout.exponent_code_bytes(); ++i) {
        const std::uint64_t most = layout.wide_exponents() && i == 0 ? 15 : 255;
        const auto code = static_cast<std::byte>(is_kept ? 1 + prng.below(most) : 0);
        exponents.push_back(code);
        whole_exponents[block * layout.exponent_code_bytes() + i] = code;
      }
    }
  }
  BlocksInMemory source() const { return {blocks, exponents.data(), held.data()}; }

  ElementLayout layout;
  std::uint32_t elements;
  BlockSet blocks;
  Bytes exponents;
  Bytes held;
  Bytes whole_exponents = Bytes(layout.exponent_bytes(elements));
  Bytes whole_elements = Bytes(std::size_t{elements} * layout.element_bytes());
  std::uint32_t kept_blocks = 0;
  std::uint32_t kept_elements = 0;
};

Bytes written(const Chunk& chunk) {
  const Quarters quarters(chunk.layout, chunk.elements, chunk.source());
  Bytes wire(quarters.bytes() + 8, std::byte{0xA5});
  quarters.write(chunk.source(), wire.data());
  for (std::size_t i = quarters.bytes(); i < wire.size(); ++i) EXPECT_EQ(wire[i], std::byte{0xA5});
  wire.resize(quarters.bytes());
  return wire;
}

TEST(Quarters, ReadAsTheyWereWritten) {
  base::Prng prng(7);
  for (const ElementLayout layout : kLayouts) {
    for (int turn = 0; turn < 300; ++turn) {
      const auto elements = static_cast<std::uint32_t>(1 + prng.below(700));
      const Chunk chunk(layout, elements, prng);
      const Bytes wire = written(chunk);
      const auto view = QuartersView::parse(layout, elements, wire);
      ASSERT_TRUE(view.has_value());
      ASSERT_EQ(view->bytes(), wire.size());
      ASSERT_EQ(view->blocks().count(), chunk.kept_blocks);
      const std::uint32_t code_bytes = layout.is_block_float() ? layout.exponent_code_bytes() : 0;
      const std::size_t head = (chunk.kept_blocks + 1) / 2 + chunk.kept_blocks * code_bytes;
      ASSERT_EQ(wire.size(), BlockSet::wire_bytes(layout.block_count(elements)) +
                                 (head + 3) / 4 * 4 + chunk.kept_elements * layout.element_bytes());

      Bytes exponents(chunk.whole_exponents.size(), std::byte{0xA5});
      Bytes whole(chunk.whole_elements.size(), std::byte{0xA5});
      view->spread_chunk(exponents.data(), whole.data());
      ASSERT_EQ(exponents, chunk.whole_exponents);
      ASSERT_EQ(whole, chunk.whole_elements);

      Bytes blocks(std::size_t{view->blocks().element_count(layout, elements)} *
                   layout.element_bytes());
      view->spread_blocks(blocks.data());
      std::size_t at = 0;
      view->blocks().for_each_run([&](std::uint32_t first, std::uint32_t count) {
        const std::size_t from = std::size_t{first} * layout.block_elements();
        const std::size_t to =
            std::min<std::size_t>(elements, std::size_t{first + count} * layout.block_elements());
        const std::size_t bytes = (to - from) * layout.element_bytes();
        ASSERT_EQ(std::memcmp(&blocks[at], &whole[from * layout.element_bytes()], bytes), 0);
        at += bytes;
      });
      ASSERT_EQ(at, blocks.size());
    }
  }
}

TEST(Quarters, AreRefusedWhereTheyEndTooEarly) {
  base::Prng prng(8);
  for (const ElementLayout layout : kLayouts) {
    const Chunk chunk(layout, 300, prng);
    const Bytes wire = written(chunk);
    for (std::size_t bytes = 0; bytes < wire.size(); ++bytes) {
      EXPECT_FALSE(QuartersView::parse(layout, 300, std::span(wire).first(bytes))) << bytes;
    }
  }
}

// The body has blocks 0 and 2 of three. The last block has 12 elements, hence two quarters.
class RefusedQuarters : public testing::Test {
 protected:
  static constexpr ElementLayout kLayout = {WireFormat::i8, DataType::i8};
  static constexpr std::uint32_t kElements = 76;

  bool takes() const { return QuartersView::parse(kLayout, kElements, wire_).has_value(); }

  // The set, the bits and room for all quarters.
  Bytes wire_ = [] {
    Bytes wire(100);
    wire[0] = std::byte{0b101};
    wire[4] = std::byte{0b0011'1111};
    return wire;
  }();
};

TEST_F(RefusedQuarters, NoneOfThemAsTheyAre) { EXPECT_TRUE(takes()); }
TEST_F(RefusedQuarters, ABlockThatTheChunkDoesNotHave) {
  wire_[0] = std::byte{0b1001};
  EXPECT_FALSE(takes());
}
TEST_F(RefusedQuarters, ABlockWithoutAny) {
  wire_[4] = std::byte{0b0011'0000};
  EXPECT_FALSE(takes());
  wire_[4] = std::byte{0b0000'1111};
  EXPECT_FALSE(takes());
}
TEST_F(RefusedQuarters, AQuarterThatTheLastBlockDoesNotHave) {
  wire_[4] = std::byte{0b0100'1111};
  EXPECT_FALSE(takes());
}
TEST_F(RefusedQuarters, BitsBehindTheLastBlock) {
  wire_[0] = std::byte{0b001};
  EXPECT_FALSE(takes());
  wire_[4] = std::byte{0b1111};
  EXPECT_TRUE(takes());
}

}  // namespace
}  // namespace infold::core
