// SPDX-License-Identifier: Apache-2.0
//
// Gathered blocks must be encoded as a tensor in which they lie side by side, and results must be
// decoded to the places from which the blocks came.
#include "sparse/gathered.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"
#include "sparse/testing.h"

namespace infold::sparse {
namespace {

using testing::Kind;
using testing::kKinds;

class GatheredBlocks : public ::testing::TestWithParam<Kind> {
 protected:
  GatheredBlocks() {
    const std::uint32_t width = element_bytes(layout_.dtype);
    block_bytes_ = std::size_t{layout_.block_elements()} * width;
    tensor_.resize(kBlocks * block_bytes_ - 3 * width);  // the last block is short
    base::Prng prng(7);
    for (std::byte& byte : tensor_) byte = static_cast<std::byte>(prng.next());
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      if (block == 2 || block == 3 || block + 1 == kBlocks || prng.chance(0.4)) {
        blocks_.push_back(block);
      }
    }
    for (const std::uint32_t block : blocks_) {
      const std::byte* const from = tensor_.data() + block * block_bytes_;
      const std::size_t bytes = std::min(block_bytes_, tensor_.size() - block * block_bytes_);
      packed_.insert(packed_.end(), from, from + bytes);
    }
    codec_ = numeric::codec(layout_.dtype, layout_.format, GetParam().reduction,
                            core::Collective::all_reduce);
    elements_ = static_cast<std::uint32_t>(packed_.size() / width);
  }

  // Visits ranges from each block to the ends of later blocks. For integers, ranges also begin in
  // the middle of a block.
  template <typename Visit>
  void for_each_range(Visit&& visit) {
    const std::uint32_t block = layout_.block_elements();
    const std::uint32_t step = layout_.is_block_float() ? block : block / 2;
    for (std::uint32_t first = 0; first < elements_; first += step) {
      for (std::uint32_t end = first + block; end < elements_ + block; end += 3 * block) {
        visit(core::ChunkRange{first, std::min(end, elements_) - first});
      }
    }
  }

  static constexpr std::uint32_t kBlocks = 24;
  core::ElementLayout layout_ = GetParam().layout;
  std::size_t block_bytes_ = 0;
  std::uint32_t elements_ = 0;
  const core::TensorCodec* codec_ = nullptr;
  std::vector<std::byte> tensor_;
  std::vector<std::byte> packed_;
  std::vector<std::uint32_t> blocks_;
};

TEST_P(GatheredBlocks, EncodeLikeATensorOfTheirOwn) {
  const std::vector<std::uint32_t> own((blocks_.size() + 31) / 32, 0b11011);
  Gathered gathered = {codec_, layout_, tensor_.data(), blocks_.data(), blocks_.size(), own.data()};
  for_each_range([&](core::ChunkRange range) {
    for (const bool floored : {false, true}) {
      if (floored && !layout_.is_block_float()) continue;
      std::vector<std::uint16_t> floors(layout_.block_count(range.elements));
      for (std::size_t i = 0; i < floors.size(); ++i) {
        floors[i] = static_cast<std::uint16_t>(i % 3 * 60);
      }
      const std::uint16_t* const codes = floored ? floors.data() : nullptr;
      // Both have some more bytes at the end, which nobody may overwrite.
      std::vector<std::byte> exponents(layout_.exponent_bytes(range.elements) + 8, std::byte{77});
      std::vector<std::byte> elements(range.elements * layout_.element_bytes() + 8, std::byte{77});
      std::vector<std::byte> wanted_exponents = exponents;
      std::vector<std::byte> wanted_elements = elements;
      const bool specials = gathered.encode(range, codes, exponents.data(), elements.data());
      const bool wanted = codec_->encode(nullptr, packed_.data(), range, codes,
                                         wanted_exponents.data(), wanted_elements.data());
      ASSERT_EQ(specials, wanted);
      ASSERT_EQ(exponents, wanted_exponents) << range.first << " + " << range.elements;
      ASSERT_EQ(elements, wanted_elements) << range.first << " + " << range.elements;
    }
  });
}

TEST_P(GatheredBlocks, DecodeToWhereTheyLie) {
  std::vector<std::byte> exponents(layout_.exponent_bytes(elements_));
  std::vector<std::byte> elements(elements_ * layout_.element_bytes());
  const bool specials = codec_->encode(nullptr, packed_.data(), {0, elements_}, nullptr,
                                       exponents.data(), elements.data());
  std::vector<std::byte> wanted = packed_;
  codec_->decode(nullptr, wanted.data(), {0, elements_},
                 {exponents.data(), elements.data(), nullptr, 3, specials});

  std::vector<std::byte> output(tensor_.size(), std::byte{99});
  Gathered gathered = {codec_, layout_, output.data(), blocks_.data()};
  const std::uint32_t half = layout_.block_elements() / 2;
  const std::uint32_t per_chunk = (layout_.is_block_float() ? 10 : 11) * half;
  for (std::uint32_t first = 0; first < elements_; first += per_chunk) {
    const core::ChunkRange range = {first, std::min(per_chunk, elements_ - first)};
    std::vector<std::byte> part(layout_.exponent_bytes(range.elements));
    if (layout_.is_block_float()) {
      const std::uint32_t at = first / layout_.block_elements() * layout_.exponent_code_bytes();
      const std::uint32_t count =
          layout_.block_count(range.elements) * layout_.exponent_code_bytes();
      std::memcpy(part.data(), exponents.data() + at, count);
    }
    gathered.decode(range, {part.data(), elements.data() + first * layout_.element_bytes(), nullptr,
                            3, specials});
  }
  std::size_t next = 0;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    const std::size_t at = block * block_bytes_;
    const std::vector<std::byte> got(
        output.begin() + static_cast<std::ptrdiff_t>(at),
        output.begin() + static_cast<std::ptrdiff_t>(std::min(at + block_bytes_, output.size())));
    if (next == blocks_.size() || blocks_[next] != block) {
      EXPECT_EQ(got, std::vector<std::byte>(got.size(), std::byte{99})) << block;
      continue;
    }
    EXPECT_EQ(std::memcmp(got.data(), wanted.data() + next * block_bytes_, got.size()), 0) << block;
    ++next;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GatheredBlocks, ::testing::ValuesIn(kKinds));

}  // namespace
}  // namespace infold::sparse
