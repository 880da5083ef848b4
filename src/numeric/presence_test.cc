// SPDX-License-Identifier: Apache-2.0
//
// Tests which blocks the scalar search finds present. differential_test.cc tests that the vector
// kernels agree.
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "numeric/codec.h"

namespace infold::numeric {
namespace {

struct Found {
  std::vector<std::uint32_t> words;
  bool has_signs = false;
};

template <typename T>
Found find(core::DataType dtype, const std::vector<T>& tensor) {
  const core::ElementLayout layout = {core::WireFormat::i32, dtype};
  Found found;
  found.words.assign((layout.block_count(static_cast<std::uint32_t>(tensor.size())) + 31) / 32,
                     0xDEAD);
  found.has_signs =
      scalar_kernels().find_presence(dtype, reinterpret_cast<const std::byte*>(tensor.data()),
                                     tensor.size(), found.words.data(), nullptr);
  return found;
}

TEST(Presence, EveryElementIsSeenInItsOwnBlockAndNoOther) {
  std::vector<float> tensor(32 * 70 + 5);
  for (std::size_t at = 0; at < tensor.size(); at += 7) {
    tensor[at] = 1e-45F;
    const Found found = find(core::DataType::f32, tensor);
    for (std::size_t block = 0; block < found.words.size() * 32; ++block) {
      ASSERT_EQ(found.words[block / 32] >> block % 32 & 1U, block == at / 32) << at << " " << block;
    }
    EXPECT_FALSE(found.has_signs);
    tensor[at] = 0;
  }
}

TEST(Presence, NegativeZerosAreZerosAndReported) {
  std::vector<float> tensor(100);
  tensor[40] = -0.0F;
  EXPECT_EQ(find(core::DataType::f32, tensor).words[0], 0U);
  EXPECT_TRUE(find(core::DataType::f32, tensor).has_signs);
  tensor[41] = 1;
  EXPECT_EQ(find(core::DataType::f32, tensor).words[0], 2U);
  EXPECT_FALSE(find(core::DataType::f32, tensor).has_signs) << "it is in a block that is sent";

  std::vector<std::int32_t> integers(64);
  integers[40] = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(find(core::DataType::i32, integers).words[0], 2U) << "integers have no such zero";
}

TEST(Presence, DoublesHaveBlocksOf64) {
  std::vector<double> tensor(200);
  tensor[127] = 1;
  tensor[199] = -1;
  EXPECT_EQ(find(core::DataType::f64, tensor).words[0], 0b1010U);
}

TEST(Presence, AnEmptyTensorHasNoBlocks) {
  EXPECT_TRUE(find(core::DataType::f32, std::vector<float>()).words.empty());
}

}  // namespace
}  // namespace infold::numeric
