// SPDX-License-Identifier: Apache-2.0
//
// Compares rows of any length and type with the dense tensor that they stand for. Both must have
// the same blocks and the same bytes on the wire, and the result must be the same tensor.
#include "sparse/rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"
#include "sparse/gathered.h"
#include "sparse/rows_input.h"
#include "sparse/rows_output.h"
#include "sparse/testing.h"

namespace infold::sparse {
namespace {

using core::DataType;
using testing::Kind;
using testing::kKinds;

constexpr std::uint64_t kRowLengths[] = {1, 3, 5, 16, 31, 32, 33, 64, 100, 128, 300};

class RowsOfATensor : public ::testing::TestWithParam<Kind> {
 protected:
  // Draws which rows are given. Some of them are full, some hold a single random value, and some
  // hold only zeros, the first of them negative.
  void draw(std::uint64_t row_elements, double density, std::uint64_t seed) {
    base::Prng prng(seed);
    row_elements_ = row_elements;
    row_count_ = 1 + prng.below(4000 / row_elements + 40);
    elements_ = row_count_ * row_elements;
    tensor_.assign(elements_ * width_, std::byte{0});
    indices_.clear();
    values_.clear();
    for (std::uint64_t row = 0; row < row_count_; ++row) {
      if (!prng.chance(density)) continue;
      std::byte* const at = tensor_.data() + row * row_elements * width_;
      const std::uint64_t kind = prng.below(4);
      const std::uint64_t filled = kind == 0 ? 0 : kind == 1 ? 1 : row_elements;
      for (std::uint64_t i = 0; i < filled * width_; ++i)
        at[i] = static_cast<std::byte>(prng.next());
      if (kind == 0 && core::is_float(layout_.dtype)) at[width_ - 1] = std::byte{0x80};
      indices_.push_back(static_cast<std::int64_t>(row));
      values_.insert(values_.end(), at, at + row_elements * width_);
    }
    rows_ = {layout_.dtype, indices_, values_.data(), row_elements};
  }

  std::vector<std::uint32_t> dense_presence() const {
    const std::uint64_t blocks =
        (elements_ + layout_.block_elements() - 1) >> layout_.block_shift();
    std::vector<std::uint32_t> words(words_for(blocks));
    numeric::find_presence(layout_.dtype, tensor_.data(), elements_, words.data());
    return words;
  }

  // Returns these blocks and some that other ranks have.
  std::vector<std::uint32_t> draw_union(const WordSet& own, base::Prng& prng) const {
    const std::uint64_t blocks =
        (elements_ + layout_.block_elements() - 1) >> layout_.block_shift();
    std::vector<std::uint32_t> all;
    WordCursor cursor(own);
    for (std::uint32_t block = 0; block < blocks; ++block) {
      const bool is_own = (cursor.word_at(block / 32) >> block % 32 & 1) != 0;
      if (is_own || prng.chance(0.2)) all.push_back(block);
    }
    return all;
  }

  std::uint64_t elements_in(const std::vector<std::uint32_t>& blocks) const {
    std::uint64_t count = blocks.size() * layout_.block_elements();
    const std::uint64_t end = blocks.empty() ? 0 : (blocks.back() + 1U) * layout_.block_elements();
    return end > elements_ ? count - (end - elements_) : count;
  }

  const core::ElementLayout layout_ = GetParam().layout;
  const std::size_t width_ = element_bytes(layout_.dtype);
  const core::TensorCodec& codec_ = *numeric::codec(
      layout_.dtype, layout_.format, GetParam().reduction, core::Collective::all_reduce);
  std::uint64_t row_elements_ = 1;
  std::uint64_t row_count_ = 0;
  std::uint64_t elements_ = 0;
  std::vector<std::byte> tensor_;
  std::vector<std::int64_t> indices_;
  std::vector<std::byte> values_;
  Rows rows_;
  std::vector<std::uint32_t> scratch_;
};

TEST_P(RowsOfATensor, HaveTheBlocksThatItHas) {
  std::uint64_t seed = 0;
  for (const std::uint64_t length : kRowLengths) {
    for (const double density : {0.0, 0.1, 0.6, 1.0}) {
      draw(length, density, ++seed);
      WordSet present;
      present.add(9);  // left over from an earlier tensor
      find_presence(rows_, scratch_, present);
      const std::vector<std::uint32_t> wanted = dense_presence();
      WordCursor cursor(present);
      for (std::uint32_t place = 0; place < wanted.size(); ++place) {
        ASSERT_EQ(cursor.word_at(place), wanted[place]) << "rows of " << length << ", " << place;
      }
      ASSERT_TRUE(present.places.empty() || present.places.back() < wanted.size());
      ASSERT_TRUE(std::find(present.words.begin(), present.words.end(), 0U) == present.words.end());
    }
  }
}

// Encodes chunk by chunk. For integers, some chunks begin within a block.
TEST_P(RowsOfATensor, AreEncodedAsItsBlocks) {
  RowsInput input;
  std::uint64_t seed = 1000;
  for (const std::uint64_t length : kRowLengths) {
    for (const double density : {0.05, 0.5, 1.0}) {
      draw(length, density, ++seed);
      base::Prng prng(seed);
      WordSet own;
      find_presence(rows_, scratch_, own);
      const std::vector<std::uint32_t> blocks = draw_union(own, prng);
      input.begin(rows_, codec_, layout_, elements_);
      WordCursor cursor(own);
      for (const std::uint32_t block : blocks) {
        input.add(block, (cursor.word_at(block / 32) >> block % 32 & 1) != 0);
      }
      Gathered dense = {&codec_, layout_, tensor_.data(), blocks.data()};
      const std::uint64_t all = elements_in(blocks);
      const std::uint32_t step = layout_.is_block_float() ? 3 * layout_.block_elements() : 80;
      for (std::uint64_t first = 0; first < all; first += step) {
        for (const std::uint64_t most : {std::uint64_t{step}, std::uint64_t{8192}}) {
          const core::ChunkRange range = {first,
                                          static_cast<std::uint32_t>(std::min(most, all - first))};
          std::vector<std::byte> exponents(layout_.exponent_bytes(range.elements) + 8,
                                           std::byte{77});
          std::vector<std::byte> elements(range.elements * layout_.element_bytes() + 8,
                                          std::byte{77});
          std::vector<std::byte> wanted_exponents = exponents, wanted_elements = elements;
          const bool specials = input.encode(range, nullptr, exponents.data(), elements.data());
          const bool wanted =
              dense.encode(range, nullptr, wanted_exponents.data(), wanted_elements.data());
          ASSERT_EQ(specials, wanted);
          ASSERT_EQ(exponents, wanted_exponents) << "rows of " << length << " from " << first;
          ASSERT_EQ(elements, wanted_elements) << "rows of " << length << " from " << first;
        }
      }
    }
  }
}

TEST_P(RowsOfATensor, ComeBackAsTheRowsThatAreNotZero) {
  RowsOutput output;
  std::uint64_t seed = 2000;
  for (const std::uint64_t length : kRowLengths) {
    for (const double density : {0.0, 0.05, 0.5, 1.0}) {
      draw(length, density, ++seed);
      base::Prng prng(seed);
      WordSet own;
      find_presence(rows_, scratch_, own);
      const std::vector<std::uint32_t> blocks = draw_union(own, prng);
      const std::uint64_t all = elements_in(blocks);

      // Sends the blocks and receives them, once densely and once as rows.
      std::vector<std::byte> wanted(tensor_.size());
      Gathered sent = {&codec_, layout_, tensor_.data(), blocks.data()};
      Gathered dense = {&codec_, layout_, wanted.data(), blocks.data()};
      output.begin(length, codec_, layout_, elements_);
      for (const std::uint32_t block : blocks) output.add(block);
      std::vector<std::byte> memory(output.value_bytes(), std::byte{99});
      output.set_memory(memory.data());
      const std::uint32_t step = layout_.is_block_float() ? 3 * layout_.block_elements() : 80;
      for (std::uint64_t first = 0; first < all; first += step) {
        const core::ChunkRange range = {
            first, static_cast<std::uint32_t>(std::min<std::uint64_t>(step, all - first))};
        std::vector<std::byte> exponents(layout_.exponent_bytes(range.elements));
        std::vector<std::byte> elements(range.elements * layout_.element_bytes());
        const bool specials = sent.encode(range, nullptr, exponents.data(), elements.data());
        const core::TensorCodec::Received received = {exponents.data(), elements.data(), nullptr, 1,
                                                      specials};
        dense.decode(range, received);
        output.decode(range, received);
      }

      std::vector<std::int64_t> wanted_rows;
      std::vector<std::byte> wanted_values;
      for (std::uint64_t row = 0; row < row_count_; ++row) {
        const std::byte* const at = wanted.data() + row * length * width_;
        const bool is_zero = with_magnitude(
            layout_.dtype, [&](auto magnitude) { return !holds_anything(at, length, magnitude); });
        if (is_zero) continue;
        wanted_rows.push_back(static_cast<std::int64_t>(row));
        wanted_values.insert(wanted_values.end(), at, at + length * width_);
      }
      std::vector<std::int64_t> rows(output.find_rows());
      output.take(rows.data());
      ASSERT_EQ(rows, wanted_rows) << "rows of " << length;
      memory.resize(wanted_values.size());
      ASSERT_EQ(memory, wanted_values) << "rows of " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RowsOfATensor, ::testing::ValuesIn(kKinds));

// The indices lie far beyond the end of any tensor that memory could hold.
TEST(Rows, OfOneElementMayLieAnywhere) {
  const std::vector<std::int64_t> indices = {0, 1, 95, (1LL << 37) - 32, (1LL << 37) - 1};
  const std::vector<std::int32_t> values = {1, 2, 3, 4, 5};
  const Rows rows = {DataType::i32, indices, reinterpret_cast<const std::byte*>(values.data()), 1};
  std::vector<std::uint32_t> scratch;
  WordSet present;
  find_presence(rows, scratch, present);
  EXPECT_EQ(present.places, (std::vector<std::uint32_t>{0, (1U << 27) - 1}));
  EXPECT_EQ(present.words, (std::vector<std::uint32_t>{5, 1U << 31}));
  EXPECT_LT(scratch.capacity(), 1000U);
}

}  // namespace
}  // namespace infold::sparse
