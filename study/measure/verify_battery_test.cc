// SPDX-License-Identifier: Apache-2.0
//
// The battery must not leave any kind of call out, and a seed must repeat it. Its expected results
// must be those of plain arithmetic, within the bounds that the protocol states.

#include "study/measure/verify_battery.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/oracle/oracle_float.h"

namespace infold::measure {
namespace {

constexpr int kWorld = 3;

std::vector<VerifyCase> cases(std::uint64_t seed = 1) {
  return battery({{0, 1, 32, 33, 353}, seed, kWorld, true});
}

TEST(VerifyBattery, HasEveryCollectiveTypeOperationAndFormatAtEverySize) {
  std::set<std::string> kinds;
  std::set<std::uint64_t> elements;
  std::set<int> roots;
  std::set<Values> values;
  bool in_place = false;
  for (const VerifyCase& each : cases()) {
    kinds.insert(std::string(collective_name(each.collective)) + " " + data_type_name(each.type) +
                 " " + reduction_name(each.reduction) + " " + wire_format_name(each.wire));
    elements.insert(each.elements);
    roots.insert(each.root);
    values.insert(each.values);
    in_place = in_place || each.in_place;
  }
  EXPECT_THAT(elements, ::testing::ElementsAre(0, 1, 32, 33, 353));
  EXPECT_THAT(roots, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(values.size(), 4U);
  EXPECT_TRUE(in_place);
  // 4 float types with 2 operations in 7 formats, and with 2 operations in their own format; 4
  // integer types with 5 operations. reduce_scatter does not have fixed32. Then 8 types twice, and
  // the barrier.
  EXPECT_EQ(kinds.size(), 2 * (56 + 8 + 20) + (48 + 8 + 20) + 16 + 1U);
  for (const char* kind :
       {"all_reduce f16 average fixed32", "all_reduce f64 sum digits", "reduce bf16 sum bfp8",
        "reduce_scatter f64 max automatic", "all_reduce u8 average automatic",
        "broadcast f64 sum automatic", "all_gather i64 sum automatic"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(VerifyBattery, HasNoNativeUnlessAsked) {
  for (const VerifyCase& each : battery({{32}, 1, kWorld})) {
    EXPECT_NE(each.wire, WireFormat::native) << describe(each);
  }
}

TEST(VerifyBattery, SumsThatCanLeaveOutZerosHaveMany) {
  std::set<std::string> kinds;
  std::size_t elements = 0, zeros = 0;
  for (const VerifyCase& each : cases()) {
    if (!each.is_sparse) continue;
    kinds.insert(std::string(data_type_name(each.type)) + " " + reduction_name(each.reduction) +
                 " " + wire_format_name(each.wire));
    const std::vector<std::byte> input = input_of(each, 0, kWorld);
    elements += input.size();
    zeros += static_cast<std::size_t>(std::count(input.begin(), input.end(), std::byte{0}));
  }
  // 4 float types with 2 operations in 6 formats, and 4 integer types with 3 operations.
  EXPECT_EQ(kinds.size(), 48 + 12U);
  EXPECT_GT(zeros * 10, elements * 7);
  EXPECT_LT(zeros * 10, elements * 9);
}

TEST(VerifyBattery, TheSeedDecidesAllValues) {
  const auto some = [](std::uint64_t seed) {
    for (const VerifyCase& each : cases(seed)) {
      if (each.elements == 353) return input_of(each, 1, kWorld);
    }
    return std::vector<std::byte>();
  };
  EXPECT_EQ(some(7), some(7));
  EXPECT_NE(some(7), some(8));
}

TEST(VerifyBattery, RanksPassDifferentValuesAndGetTheirParts) {
  for (const VerifyCase& each : cases()) {
    if (each.elements != 353) continue;
    if (!each.is_sparse) {
      EXPECT_NE(input_of(each, 0, kWorld), input_of(each, 1, kWorld)) << describe(each);
    }
    const std::size_t bytes = 353 * element_bytes(each.type);
    const bool gathers = each.collective == Collective::all_gather;
    const bool scatters = each.collective == Collective::reduce_scatter;
    EXPECT_EQ(input_of(each, 0, kWorld).size(), scatters ? kWorld * bytes : bytes);
    for (int rank = 0; rank < kWorld; ++rank) {
      const auto expected = expected_of(each, rank, kWorld);
      const bool gets = each.collective != Collective::reduce || rank == each.root;
      ASSERT_EQ(expected.has_value(), gets);
      if (gets) {
        EXPECT_EQ(expected->size(), gathers ? kWorld * bytes : bytes);
      }
    }
  }
}

// The bound is half a unit for every rank and half a unit for the result, in units of the block's
// largest number (section 10 of the protocol). fixed32 keeps 30 bits minus the bits of the world,
// in units that all ranks agree on.
double unit_of(WireFormat wire) {
  if (wire == WireFormat::bfp8) return std::ldexp(1.0, -6);
  return wire == WireFormat::bfp16 ? std::ldexp(1.0, -14) : std::ldexp(1.0, -26);
}

double rounding_of(DataType type) {
  if (type == DataType::f16) return std::ldexp(1.0, -11);
  return type == DataType::bf16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -24);
}

TEST(VerifyBattery, ExpectedSumsOfFloatsAreWithinTheStatedBounds) {
  int checked = 0;
  for (const VerifyCase& each : cases()) {
    if (each.collective != Collective::all_reduce || each.wire == WireFormat::automatic) continue;
    if (each.values == Values::special || each.elements == 0) continue;
    ++checked;
    const DataType type = each.type;
    std::vector<double> exact(each.elements);
    double largest = 0;  // over all blocks, because these tensors do not need a bound per block
    for (int rank = 0; rank < kWorld; ++rank) {
      const auto input = input_of(each, rank, kWorld);
      for (std::uint64_t i = 0; i < each.elements; ++i) {
        const double value = oracle::load_float(type, input.data(), i);
        exact[i] += value;
        largest = std::max(largest, std::fabs(value));
      }
    }
    const auto expected = expected_of(each, 0, kWorld);
    const double divisor = each.reduction == Reduction::average ? kWorld : 1;
    for (std::uint64_t i = 0; i < each.elements; ++i) {
      const double got = oracle::load_float(type, expected->data(), i);
      const double bound = 2 * kWorld * largest * unit_of(each.wire) / divisor +
                           2 * rounding_of(each.type) * std::fabs(exact[i] / divisor) +
                           std::ldexp(1.0, -24);
      ASSERT_NEAR(got, exact[i] / divisor, bound) << describe(each) << " at " << i;
    }
  }
  EXPECT_GT(checked, 80);
}

TEST(VerifyBattery, ExpectedIntegersAreExact) {
  for (const VerifyCase& each : cases()) {
    if (each.collective != Collective::all_reduce || each.type != DataType::i32) continue;
    const auto expected = expected_of(each, 0, kWorld);
    for (std::uint64_t i = 0; i < each.elements; ++i) {
      std::int32_t values[kWorld];
      std::uint32_t sum = 0;
      std::int32_t bits = 0;
      for (int rank = 0; rank < kWorld; ++rank) {
        std::memcpy(&values[rank], input_of(each, rank, kWorld).data() + 4 * i, 4);
        sum += static_cast<std::uint32_t>(values[rank]);
        bits |= values[rank];
      }
      std::int32_t wanted = static_cast<std::int32_t>(sum);
      if (each.reduction == Reduction::average) wanted /= kWorld;
      if (each.reduction == Reduction::min) wanted = *std::min_element(values, values + kWorld);
      if (each.reduction == Reduction::max) wanted = *std::max_element(values, values + kWorld);
      if (each.reduction == Reduction::bit_or) wanted = bits;
      std::int32_t got = 0;
      std::memcpy(&got, expected->data() + 4 * i, 4);
      ASSERT_EQ(got, wanted) << describe(each) << " at " << i;
    }
  }
}

// A switch on Tofino supports only some of the reductions.
TEST(VerifyBattery, ReducesAsItIsAsked) {
  BatteryOptions options{.elements = {3}, .world = 2};
  const std::size_t all = battery(options).size();
  options.reductions = {Reduction::sum, Reduction::max};
  std::size_t sums = 0, maxima = 0;
  for (const VerifyCase& each : battery(options)) {
    ASSERT_TRUE(each.reduction == Reduction::sum || each.reduction == Reduction::max);
    (each.reduction == Reduction::max ? maxima : sums) += 1;
  }
  EXPECT_GT(sums, 0U);
  EXPECT_GT(maxima, 0U);
  EXPECT_LT(sums + maxima, all);
}

TEST(VerifyBattery, FindsTheFirstWrongElement) {
  std::vector<std::byte> wanted(40), got(40);
  EXPECT_FALSE(first_wrong(DataType::f64, got, wanted));
  got[39] = std::byte{1};
  got[16] = std::byte{128};
  EXPECT_EQ(first_wrong(DataType::f64, got, wanted), 2U);
  EXPECT_EQ(first_wrong(DataType::u8, got, wanted), 16U);
  EXPECT_FALSE(first_wrong(DataType::f32, {}, {}));
}

TEST(VerifyBattery, DescribesACall) {
  VerifyCase each;
  EXPECT_EQ(describe(each), "no tensor");
  each = {Collective::reduce, DataType::f32, Reduction::average, WireFormat::bfp16, 353, 2,
          Values::apart};
  EXPECT_EQ(describe(each), "average of 353 f32 as bfp16, far apart values, root 2");
  each = {Collective::all_gather, DataType::i8, Reduction::sum, WireFormat::automatic, 5};
  EXPECT_EQ(describe(each), "5 i8");
}

}  // namespace
}  // namespace infold::measure
