// SPDX-License-Identifier: Apache-2.0
//
// Exchanges chunks of codes by hand. All ranks must end with the same codes, the greatest of each
// block.
#include "encoding/agreement.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "numeric/codec.h"

namespace infold::encoding {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kChunkElements = 16;  // in the agreement; the codes of eight blocks

// A rank whose tensor is summed in place.
class Rank {
 public:
  explicit Rank(std::vector<float> tensor) : tensor_(std::move(tensor)) {
    core::TransferRequest data;
    data.layout = {core::WireFormat::i32, DataType::f32};
    data.reduction = Reduction::average;
    data.collective = core::Collective::reduce;
    data.elements = tensor_.size();
    data.input = reinterpret_cast<const std::byte*>(tensor_.data());
    data.output = reinterpret_cast<std::byte*>(tensor_.data());
    request_ = agreement_.begin(data);
  }

  const core::TransferRequest& request() const { return request_; }
  std::vector<float>& tensor() { return tensor_; }
  std::vector<std::int16_t> encode(core::ChunkRange range) const {
    std::vector<std::int16_t> elements(range.elements);
    EXPECT_FALSE(request_.codec->encode(request_.context, request_.input, range, nullptr, nullptr,
                                        reinterpret_cast<std::byte*>(elements.data())));
    return elements;
  }
  void decode(core::ChunkRange range, const std::vector<std::int16_t>& elements) {
    request_.codec->decode(request_.context, request_.output, range,
                           {.elements = reinterpret_cast<const std::byte*>(elements.data())});
  }
  std::vector<std::uint16_t> own_codes() const {
    const auto elements = static_cast<std::uint32_t>(tensor_.size());
    std::vector<std::uint16_t> codes((elements + 31) / 32);
    numeric::block_codes(DataType::f32, reinterpret_cast<const std::byte*>(tensor_.data()),
                         {0, elements}, codes.data());
    return codes;
  }
  std::vector<std::uint16_t> agreed_codes() const {
    return {agreement_.codes(), agreement_.codes() + (tensor_.size() + 31) / 32};
  }

 private:
  std::vector<float> tensor_;
  Agreement agreement_;
  core::TransferRequest request_;
};

std::vector<float> tensor_of(std::size_t elements, float scale, std::size_t special_at) {
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    tensor[i] = scale * static_cast<float>(i % 7) * (i / 32 % 2 == 0 ? 1.0F : 1e-9F);
  }
  if (special_at < elements) tensor[special_at] = kNan;
  return tensor;
}

core::ChunkRange range_at(const Rank& rank, std::uint64_t first) {
  const std::uint64_t left = rank.request().elements - first;
  return {first, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kChunkElements))};
}

TEST(Agreement, IsTheGreatestCodeOfEachBlockAndWhetherThereIsASpecial) {
  for (const std::size_t elements : {std::size_t{1}, std::size_t{32}, std::size_t{1000}}) {
    Rank a(tensor_of(elements, 3e5F, elements));
    Rank b(tensor_of(elements, 2e-6F, 70));
    ASSERT_EQ(a.request().elements, 2 * ((elements + 31) / 32));
    for (std::uint64_t first = 0; first < a.request().elements; first += kChunkElements) {
      const core::ChunkRange range = range_at(a, first);
      std::vector<std::int16_t> largest = a.encode(range);
      const std::vector<std::int16_t> other = b.encode(range);
      for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], other[i]);
      a.decode(range, largest);
      b.decode(range, largest);
    }
    std::vector<std::uint16_t> expected = a.own_codes();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::uint16_t own = b.own_codes()[i];
      const int code = std::max(expected[i] & 0x7FFF, own & 0x7FFF);
      expected[i] = static_cast<std::uint16_t>(code | ((expected[i] | own) & 0x8000));
    }
    EXPECT_EQ(a.agreed_codes(), expected);
    EXPECT_EQ(b.agreed_codes(), expected);
  }
}

// The first chunk is already agreed on, and its blocks already hold results.
TEST(Agreement, RepeatsAChunkWithTheSameCodesWhileOthersHoldResults) {
  Rank rank(tensor_of(1000, 1.0F, 900));
  const core::ChunkRange second = range_at(rank, kChunkElements);
  const std::vector<std::int16_t> before = rank.encode(second);
  const std::size_t agreed = std::size_t{kChunkElements} / 2 * 32;
  std::fill_n(rank.tensor().begin(), agreed, 1e30F);
  EXPECT_EQ(rank.encode(second), before);
}

TEST(Agreement, IsATransferOfMaximaAmongAllRanks) {
  const Rank rank(tensor_of(64, 1.0F, 64));
  EXPECT_EQ(rank.request().reduction, Reduction::max);
  EXPECT_EQ(rank.request().collective, core::Collective::all_reduce);
  EXPECT_EQ(rank.request().layout.format, core::WireFormat::i16);
  EXPECT_EQ(rank.request().layout.dtype, DataType::f32);
  EXPECT_TRUE(rank.request().wants_result());
}

}  // namespace
}  // namespace infold::encoding
