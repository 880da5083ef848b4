// SPDX-License-Identifier: Apache-2.0
//
// Compares sums by digits with the oracle, over an aggregator that can only take the maximum of i16
// and add i32. Chunks of every length come back in any order, and ranks send each chunk twice.
#include "encoding/digits.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/exact/exact_testing.h"
#include "numeric/codec.h"
#include "study/oracle/exact_total.h"
#include "study/oracle/oracle_float.h"

namespace infold::encoding {
namespace {

using core::ChunkRange;
using core::DataType;
using core::ExactDraw;
using Tensor = std::vector<std::byte>;

struct Way {
  bool averages = false;
  bool in_place = true;
  std::uint32_t packet_integers = 0;  // 0: so few that a range transfer is needed
  std::uint32_t chunk = 352;
  std::uint64_t seed = 1;
  std::uint64_t first_wanted = 0;
  std::uint64_t wanted = 0;  // 0: all
};

// All ranks of one sum.
class Sum {
 public:
  Sum(DataType dtype, const std::vector<Tensor>& inputs, const Way& way)
      : way_(way), prng_(way.seed), inputs_(inputs), outputs_(inputs), digits_(inputs.size()) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (!way.in_place) std::fill(outputs_[rank].begin(), outputs_[rank].end(), std::byte{0xA5});
      Digits::Work work;
      core::TransferRequest& request = work.tensor;
      request.reduction = way.averages ? core::Reduction::average : core::Reduction::sum;
      request.layout = {core::WireFormat::i32, dtype};
      request.elements = inputs[rank].size() / element_bytes(dtype);
      request.codec = Digits::codec(world());
      request.input = (way.in_place ? outputs_ : inputs_)[rank].data();
      if (way.wanted > 0) outputs_[rank].resize(way.wanted * element_bytes(dtype));
      request.output = outputs_[rank].data();
      work.first_wanted = way.first_wanted;
      work.wanted = way.wanted > 0 ? way.wanted : request.elements;
      work.world = world();
      work.packet_integers = way.packet_integers;
      digits_[rank].begin(work);
    }
  }

  void run() {
    const bool has_range = digits_[0].has_range_transfer();
    if (has_range) {
      std::vector<core::TransferRequest> ranges;
      for (Digits& each : digits_) ranges.push_back(each.range_transfer());
      carry<std::int16_t>(ranges, ranges[0].elements,
                          [](std::int16_t a, std::int16_t b) { return std::max(a, b); });
      sums_.resize(digits_.size());
    }
    std::vector<core::TransferRequest> transfers;
    for (std::size_t rank = 0; rank < digits_.size(); ++rank) {
      transfers.push_back(digits_[rank].digit_transfer());
      EXPECT_EQ(transfers.back().sized_later, has_range);
      if (!has_range) {
        integers_ = transfers.back().elements;
        continue;
      }
      const std::uint64_t planned = digits_[rank].plan();
      EXPECT_TRUE(rank == 0 || planned == integers_);
      integers_ = planned;
      sums_[rank].resize(digits_[rank].sums_bytes());
      digits_[rank].set_sums(sums_[rank].data());
    }
    carry<std::int32_t>(transfers, integers_, [](std::int32_t a, std::int32_t b) {
      std::int32_t sum = 0;
      EXPECT_FALSE(__builtin_add_overflow(a, b, &sum));
      return sum;
    });
  }

  // The number of integers in the second transfer.
  std::uint64_t integers() const { return integers_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  std::uint32_t world() const { return static_cast<std::uint32_t>(inputs_.size()); }

  // Carries a transfer as a network would. Each rank receives the results of chunks in a random
  // order of its own. Before each result, the rank sends that chunk again, and the bytes must not
  // have changed although other chunks have their results.
  template <typename Integer, typename Combine>
  void carry(const std::vector<core::TransferRequest>& transfers, std::uint64_t elements,
             Combine&& combine) {
    std::vector<ChunkRange> chunks;
    for (std::uint64_t first = 0; first < elements; first += way_.chunk) {
      const auto left = std::min<std::uint64_t>(way_.chunk, elements - first);
      chunks.push_back({first, static_cast<std::uint32_t>(left)});
    }
    std::vector<std::vector<Integer>> results(chunks.size());
    std::vector<std::vector<std::vector<Integer>>> sent(transfers.size());
    for (std::size_t rank = 0; rank < transfers.size(); ++rank) {
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        sent[rank].push_back(encoded<Integer>(transfers[rank], chunks[i]));
        std::vector<Integer>& result = results[i];
        if (rank == 0) {
          result = sent[rank][i];
        } else {
          std::transform(result.begin(), result.end(), sent[rank][i].begin(), result.begin(),
                         combine);
        }
      }
    }
    std::vector<std::size_t> order(chunks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t rank = 0; rank < transfers.size(); ++rank) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[prng_.below(i)]);
      for (const std::size_t i : order) {
        ASSERT_EQ(encoded<Integer>(transfers[rank], chunks[i]), sent[rank][i]) << "sent again";
        core::TensorCodec::Received received;
        received.elements = reinterpret_cast<const std::byte*>(results[i].data());
        received.divisor = way_.averages ? world() : 1;
        transfers[rank].codec->decode(transfers[rank].context, nullptr, chunks[i], received);
      }
    }
  }

  template <typename Integer>
  static std::vector<Integer> encoded(const core::TransferRequest& transfer, ChunkRange chunk) {
    std::vector<Integer> integers(chunk.elements);
    transfer.codec->encode(transfer.context, nullptr, chunk, nullptr, nullptr,
                           reinterpret_cast<std::byte*>(integers.data()));
    return integers;
  }

  Way way_;
  base::Prng prng_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<Digits> digits_;
  std::vector<Tensor> sums_;
  std::uint64_t integers_ = 0;
};

std::uint64_t bits_at(DataType dtype, const Tensor& tensor, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + index * element_bytes(dtype), element_bytes(dtype));
  return bits;
}

void expect_true(DataType dtype, const std::vector<Tensor>& inputs, const Way& way,
                 const std::string& what) {
  Sum sum(dtype, inputs, way);
  sum.run();
  if (testing::Test::HasFatalFailure()) return;
  for (const Tensor& output : sum.outputs()) ASSERT_EQ(output, sum.outputs()[0]) << what;
  const auto divisor = static_cast<std::uint32_t>(way.averages ? inputs.size() : 1);
  for (std::size_t i = 0; i < inputs[0].size() / element_bytes(dtype); ++i) {
    std::vector<double> values;
    for (const Tensor& input : inputs) {
      values.push_back(oracle::load_float(dtype, input.data(), i));
    }
    ASSERT_EQ(bits_at(dtype, sum.outputs()[0], i), oracle::nearest_sum(dtype, values, divisor))
        << what << ", element " << i;
  }
}

class DigitSums : public testing::TestWithParam<DataType> {
 protected:
  std::vector<Tensor> draw(ExactDraw kind, std::uint32_t ranks, std::uint32_t elements) {
    return core::draw_contributions(GetParam(), kind, ranks, elements, prng_);
  }
  base::Prng prng_{20261124};
};

TEST_P(DigitSums, AreTheOraclesForEveryKindOfNumbers) {
  constexpr std::uint32_t kChunks[] = {32, 96, 352, 2048};
  for (std::uint32_t kind = 0; kind < core::kExactDraws; ++kind) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 255U, 256U}) {
      const std::uint32_t elements =
          ranks > 8 ? 9 : 257 + 2 * static_cast<std::uint32_t>(prng_.below(40));
      const auto inputs = draw(static_cast<ExactDraw>(kind), ranks, elements);
      for (const bool averages : {false, true}) {
        const Way way = {.averages = averages,
                         .in_place = prng_.below(2) == 0,
                         .chunk = kChunks[prng_.below(4)],
                         .seed = prng_.next()};
        expect_true(GetParam(), inputs, way,
                    "kind " + std::to_string(kind) + " of " + std::to_string(ranks));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// They use as many digits as the type can have, and need only one transfer.
TEST_P(DigitSums, OfShortTensorsNeedNoRanges) {
  for (std::uint32_t kind = 0; kind < core::kExactDraws; ++kind) {
    const auto ranks = static_cast<std::uint32_t>(1 + prng_.below(9));
    const auto inputs = draw(static_cast<ExactDraw>(kind), ranks, 4);
    const Way way = {.averages = kind % 2 == 0, .packet_integers = 352};
    Sum sum(GetParam(), inputs, way);
    sum.run();
    EXPECT_LE(sum.integers(), 352U);
    EXPECT_GT(sum.integers(), 4U);
    expect_true(GetParam(), inputs, way, "kind " + std::to_string(kind));
    if (HasFatalFailure()) return;
  }
}

TEST_P(DigitSums, HaveTheSameBitsForEveryChunkLength) {
  const auto inputs = draw(ExactDraw::spread, 5, 1000);
  const auto outputs_of = [&](const Way& way) {
    Sum sum(GetParam(), inputs, way);
    sum.run();
    return sum.outputs();
  };
  const auto expected = outputs_of({.chunk = 1 << 20});
  for (const std::uint32_t chunk : {1U, 32U, 352U, 2048U}) {
    EXPECT_EQ(outputs_of({.in_place = chunk != 352, .chunk = chunk}), expected) << chunk;
  }
  EXPECT_EQ(outputs_of({.packet_integers = 1 << 30, .chunk = 1 << 30}), expected);
}

TEST_P(DigitSums, DoNotDependOnTheThreadsFloatingPointModes) {
  for (std::uint32_t kind = 0; kind <= core::kExactDraws; ++kind) {
    auto inputs = draw(static_cast<ExactDraw>(kind % core::kExactDraws), 3, 33);
    if (kind == core::kExactDraws) {  // the smallest subnormal numbers
      for (Tensor& input : inputs) {
        std::fill(input.begin(), input.end(), std::byte{0});
        for (std::size_t i = 0; i < 33; ++i) {
          input[i * element_bytes(GetParam())] = static_cast<std::byte>(i);
        }
      }
    }
    Sum plain(GetParam(), inputs, {.averages = true});
    plain.run();
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      Sum sum(GetParam(), inputs, {.averages = true});
      std::fesetround(mode);
#if defined(__x86_64__)
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);  // sets FTZ and DAZ, so that subnormals count as zeros
#endif
      sum.run();
#if defined(__x86_64__)
      _mm_setcsr(before);
#endif
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(sum.outputs(), plain.outputs()) << "kind " << kind << " mode " << mode;
    }
  }
}

// The lengths range from the smallest number to each power of two. They cover every way of rounding
// to floats, and the lengths at which one way gives place to the next.
TEST_P(DigitSums, OfEveryLengthAreExact) {
  const auto top = static_cast<int>(numeric::digit_range_of(GetParam()).top);
  constexpr int kUnits[] = {-149, -24, -133, -1074};  // by type
  const int unit = kUnits[static_cast<std::size_t>(GetParam())];
  for (int length = 2; length <= top; length += length < 300 ? 1 : 61) {
    const double large = std::ldexp(1.0, unit + length - 1);
    const double least = std::ldexp(1.0, unit);
    const double values[3][3] = {
        {large, least, -large}, {-large / 2, -large, least}, {least, least, large / 2}};
    std::vector<Tensor> inputs(3, Tensor(3 * element_bytes(GetParam())));
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (std::size_t i = 0; i < 3; ++i) {
        oracle::store_float(GetParam(), inputs[rank].data(), i, values[rank][i]);
      }
    }
    for (const bool averages : {false, true}) {
      expect_true(GetParam(), inputs, {.averages = averages}, std::to_string(length) + " bits");
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(DigitSums, SendNothingForGroupsOfZeros) {
  const std::size_t bytes = element_bytes(GetParam());
  std::vector<Tensor> inputs(3, Tensor(1000 * bytes));
  inputs[1][300 * bytes - 1] = std::byte{0x80};  // a negative zero
  Sum zeros(GetParam(), inputs, {.in_place = false});
  zeros.run();
  EXPECT_EQ(zeros.integers(), 0U);
  EXPECT_EQ(zeros.outputs()[2], Tensor(1000 * bytes));

  inputs[2][bytes * 999] = std::byte{1};  // the smallest number, in the last group
  Sum one(GetParam(), inputs, {});
  one.run();
  EXPECT_EQ(one.integers(), 1000U - 768U);
  EXPECT_EQ(one.outputs()[1][bytes * 999], std::byte{1});
  EXPECT_EQ(std::count(one.outputs()[1].begin(), one.outputs()[1].end(), std::byte{0}),
            static_cast<std::ptrdiff_t>(1000 * bytes - 1));
}

// An aggregator may send anything. Sizes must stay bounded, and nothing may be written elsewhere.
TEST_P(DigitSums, TakeAnyRangesAndAnySums) {
  const auto inputs = draw(ExactDraw::any_bits, 1, 700);
  for (int draw = 0; draw < 300; ++draw) {
    Digits digits;
    Tensor output = inputs[0];
    Digits::Work work;
    work.world = 8;
    core::TransferRequest& request = work.tensor;
    request.layout = {core::WireFormat::i32, GetParam()};
    request.elements = 700;
    request.codec = Digits::codec(8);
    request.input = request.output = output.data();
    work.wanted = request.elements;
    digits.begin(work);
    const core::TransferRequest ranges = digits.range_transfer();
    std::vector<std::int16_t> said(ranges.elements);
    for (std::int16_t& each : said) {
      each = static_cast<std::int16_t>(prng_.below(3) == 0 ? prng_.below(4100) : prng_.next());
    }
    core::TensorCodec::Received received;
    received.elements = reinterpret_cast<const std::byte*>(said.data());
    ranges.codec->decode(ranges.context, nullptr, {0, static_cast<std::uint32_t>(said.size())},
                         received);
    const std::uint64_t integers = digits.plan();
    const numeric::DigitGroup whole = {numeric::digit_range_of(GetParam()), numeric::digit_bits(8)};
    ASSERT_LE(integers, 700 * whole.integers());
    Tensor sums(digits.sums_bytes());
    digits.set_sums(sums.data());
    const core::TransferRequest transfer = digits.digit_transfer();
    std::vector<std::int32_t> any(352);
    for (std::uint64_t first = 0; first < integers; first += any.size()) {
      for (std::int32_t& each : any) each = static_cast<std::int32_t>(prng_.next());
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(any.size(), integers - first));
      Tensor sent(count * sizeof(std::int32_t));
      transfer.codec->encode(transfer.context, nullptr, {first, count}, nullptr, nullptr,
                             sent.data());
      received.elements = reinterpret_cast<const std::byte*>(any.data());
      received.divisor = 8;
      transfer.codec->decode(transfer.context, nullptr, {first, count}, received);
    }
  }
}

// In a reduce_scatter, each rank wants a part, and groups may lie across the ends of parts.
TEST_P(DigitSums, OfPartsAreThoseOfTheWhole) {
  const std::size_t bytes = element_bytes(GetParam());
  const auto inputs = draw(ExactDraw::three_scales, 3, 1000);
  Sum whole(GetParam(), inputs, {});
  whole.run();
  for (const auto& [first, wanted] :
       {std::pair(0, 1000), std::pair(0, 1), std::pair(250, 10), std::pair(256, 256),
        std::pair(300, 100), std::pair(700, 300), std::pair(999, 1)}) {
    Sum part(GetParam(), inputs,
             {.in_place = false,
              .chunk = 96,
              .first_wanted = static_cast<std::uint64_t>(first),
              .wanted = static_cast<std::uint64_t>(wanted)});
    part.run();
    const auto from = whole.outputs()[0].begin() + static_cast<std::ptrdiff_t>(first * bytes);
    const Tensor expected(from, from + static_cast<std::ptrdiff_t>(wanted * bytes));
    for (const Tensor& output : part.outputs()) EXPECT_EQ(output, expected) << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DigitSums,
                         testing::Values(DataType::f32, DataType::f16, DataType::bf16,
                                         DataType::f64),
                         [](const auto& of) { return std::string(data_type_name(of.param)); });

TEST(Digits, OfFloatsOfOneScaleAreTwo) {
  base::Prng prng(5);
  std::vector<float> tensor(100'000);
  for (float& each : tensor) {
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += prng.uniform();
    each = static_cast<float>(normal);
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(tensor.data());
  const Tensor input(bytes, bytes + tensor.size() * sizeof(float));
  Sum sum(DataType::f32, std::vector<Tensor>(8, input), {});
  sum.run();
  EXPECT_EQ(sum.integers(), 200'000U);
}

TEST(Digits, OfWholeNumbersAreOne) {
  std::vector<float> tensor(1000);
  std::iota(tensor.begin(), tensor.end(), -500.0F);
  const auto* const bytes = reinterpret_cast<const std::byte*>(tensor.data());
  Sum sum(DataType::f32, {Tensor(bytes, bytes + 4000), Tensor(bytes, bytes + 4000)}, {});
  sum.run();
  EXPECT_EQ(sum.integers(), 1000U);
}

TEST(Digits, OfMoreRanksThanTheyCountAreRefused) {
  EXPECT_NE(Digits::codec(511), nullptr);
  EXPECT_EQ(Digits::codec(512), nullptr);
}

}  // namespace
}  // namespace infold::encoding
