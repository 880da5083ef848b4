// SPDX-License-Identifier: Apache-2.0
#include "base/zeroed_array.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace infold::base {
namespace {

using ZeroedBytes = ZeroedArray<std::byte>;

bool are_all_zero(const ZeroedBytes& bytes) {
  return std::all_of(bytes.data(), bytes.data() + bytes.size(),
                     [](std::byte each) { return each == std::byte{0}; });
}

// Several lives reuse memory that held other bytes before.
TEST(ZeroedArray, BeginAsZeroesOnACacheLine) {
  for (const std::size_t size : {1U, 64U, 1000U, 300'000U}) {
    for (int life = 0; life < 3; ++life) {
      ZeroedBytes bytes(size);
      ASSERT_EQ(bytes.size(), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % kCacheLineBytes, 0U);
      EXPECT_TRUE(are_all_zero(bytes));
      std::fill_n(bytes.data(), size, std::byte{0xff});
    }
  }
}

TEST(ZeroedArray, ACopyIsAnothersAndAMoveTakesAll) {
  ZeroedBytes first(100);
  first.data()[99] = std::byte{7};
  ZeroedBytes copy = first;
  EXPECT_EQ(copy.data()[99], std::byte{7});
  copy.data()[99] = std::byte{8};
  EXPECT_EQ(first.data()[99], std::byte{7});
  const std::byte* const place = first.data();
  const ZeroedBytes moved = std::move(first);
  EXPECT_EQ(moved.data(), place);
  EXPECT_EQ(moved.data()[99], std::byte{7});
  copy = ZeroedBytes(3);
  EXPECT_EQ(copy.size(), 3U);
  EXPECT_TRUE(are_all_zero(copy));
  EXPECT_EQ(ZeroedBytes().size(), 0U);
}

TEST(ZeroedArray, CountsInElements) {
  ZeroedArray<std::uint64_t> numbers(100);
  EXPECT_EQ(numbers.size(), 100U);
  EXPECT_EQ(numbers.size_bytes(), 800U);
  numbers.data()[99] = 7;
  const ZeroedArray<std::uint64_t> copy = numbers;
  EXPECT_EQ(copy.data()[99], 7U);
  EXPECT_EQ(copy.data()[98], 0U);
}

}  // namespace
}  // namespace infold::base
