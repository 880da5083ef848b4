// SPDX-License-Identifier: Apache-2.0
//
// Sums that leave out zeros have the bits of dense sums, whatever other calls are around them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.h"
#include "base/prng.h"

namespace infold {
namespace {

using ::testing::AllOf;
using testing::expect_done;
using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;
using testing::same_bits;

// Noise in some blocks of 32 elements, zeros of both signs in the others.
template <typename T>
std::vector<T> draw(std::size_t elements, double density, std::uint64_t seed) {
  base::Prng prng(seed);
  std::vector<T> tensor(elements);
  for (std::size_t first = 0; first < elements; first += 32) {
    const bool has_noise = prng.chance(density);
    const std::size_t end = std::min(first + 32, elements);
    for (std::size_t i = first; i < end; ++i) {
      const auto noise = static_cast<std::int32_t>(prng.next());
      if constexpr (std::is_floating_point_v<T>) {
        if (has_noise) tensor[i] = static_cast<T>(std::ldexp(noise, noise % 40));
        if (!has_noise && noise % 8 == 0) tensor[i] = static_cast<T>(-0.0);
      } else if (has_noise) {
        tensor[i] = static_cast<T>(noise);
      }
    }
  }
  return tensor;
}

template <typename T>
class BlocksOf : public ::testing::Test {};
using Types =
    ::testing::Types<float, double, std::int8_t, std::uint8_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(BlocksOf, Types);

TYPED_TEST(BlocksOf, HaveTheBitsOfADenseSum) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::uint64_t seed = 100;
    for (const std::size_t elements : {1UL, 31UL, 320UL, 100'001UL}) {
      for (const double density : {0.0, 0.05, 1.0}) {
        const auto input =
            draw<TypeParam>(elements, density, ++seed * 10 + static_cast<unsigned>(rank));
        for (const Reduction reduction : {Reduction::sum, Reduction::average, Reduction::bit_or}) {
          if (reduction == Reduction::bit_or && std::is_floating_point_v<TypeParam>) continue;
          std::vector<TypeParam> dense(elements), apart(elements, TypeParam{7});
          expect_done(comm.all_reduce(input, dense, {.reduction = reduction}).wait(), 3);
          expect_done(
              comm.all_reduce(input, apart, {.reduction = reduction, .layout = Layout::blocks})
                  .wait(),
              3);
          EXPECT_TRUE(same_bits(apart, dense)) << elements << " " << density;
          for (const bool keeps : {true, false}) {
            std::vector<TypeParam> in_place = input;
            expect_done(comm.all_reduce(in_place, {.reduction = reduction,
                                                   .layout = Layout::blocks,
                                                   .keep_input = keeps})
                            .wait(),
                        3);
            EXPECT_TRUE(same_bits(in_place, dense))
                << elements << " " << density << (keeps ? " staged" : "");
          }
        }
      }
    }
  });
}

TEST(Blocks, EveryWireFormatHasItsOwnBits) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (const WireFormat wire : {WireFormat::native, WireFormat::digits, WireFormat::bfp32,
                                  WireFormat::bfp16, WireFormat::bfp8}) {
      const auto input = draw<float>(40'000, 0.1, 5 + static_cast<unsigned>(rank));
      std::vector<float> dense(input.size()), blocks(input.size());
      expect_done(comm.all_reduce(input, dense, {.wire = wire}).wait(), 2);
      expect_done(comm.all_reduce(input, blocks, {.wire = wire, .layout = Layout::blocks}).wait(),
                  2);
      EXPECT_TRUE(same_bits(blocks, dense));
    }
  });
}

TEST(Blocks, NotANumberIsNotZero) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor(1000);
    if (rank == 0) tensor[500] = std::numeric_limits<float>::quiet_NaN();
    if (rank == 1) tensor[900] = -std::numeric_limits<float>::infinity();
    expect_done(comm.all_reduce(tensor, {.layout = Layout::blocks}).wait(), 2);
    EXPECT_TRUE(std::isnan(tensor[500]));
    EXPECT_EQ(tensor[900], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(tensor[0], 0);
  });
}

// Each rank learns the sizes at other moments, which must not disturb the calls around them.
TEST(Blocks, ManyInFlightAmongDenseCallsOverALossyNetwork) {
  LocalGroup group = make_group(
      {.world = 4, .rack_size = 2, .faults = {.loss = 0.02, .duplication = 0.01, .seed = 3}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    constexpr std::size_t kCalls = 24;
    std::vector<std::vector<float>> inputs, outputs, wanted;
    for (std::size_t i = 0; i < kCalls; ++i) {
      const std::size_t elements = 1 + i * i * 400;
      inputs.push_back(
          draw<float>(elements, i % 4 == 0 ? 0 : 0.04, i * 4 + static_cast<unsigned>(rank)));
      outputs.emplace_back(elements);
      wanted.emplace_back(elements);
    }
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < kCalls; ++i) {
      handles.push_back(comm.all_reduce(inputs[i], outputs[i], {.layout = Layout::blocks}));
      handles.push_back(comm.all_reduce(inputs[i], wanted[i]));
    }
    for (Handle& handle : handles) expect_done(handle.wait(), 4);
    for (std::size_t i = 0; i < kCalls; ++i) EXPECT_TRUE(same_bits(outputs[i], wanted[i])) << i;
  });
}

TEST(Blocks, ALongTensorFindsItsWordsFirst) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const auto input = draw<std::int32_t>(2'500'000, 0.001, 9 + static_cast<unsigned>(rank));
    std::vector<std::int32_t> dense(input.size()), blocks(input.size(), 1);
    expect_done(comm.all_reduce(input, dense).wait(), 2);
    const std::uint64_t before = comm.statistics().packets_sent;
    expect_done(comm.all_reduce(input, blocks, {.layout = Layout::blocks}).wait(), 2);
    EXPECT_TRUE(same_bits(blocks, dense));
    const Statistics after = comm.statistics();
    EXPECT_LT(after.packets_sent - before, 200U) << "a dense sum takes 7000";
    EXPECT_LT(after.packets_resent, after.packets_sent) << "one packet holds many chunks";
  });
}

TEST(Blocks, ALateRankEndsInADeadlineThatNamesItAndLeavesInputsAlone) {
  LocalGroup group = make_group({.world = 2, .deadline = std::chrono::milliseconds(300)});
  auto input = draw<float>(5000, 0.2, 1);
  const auto before = input;
  const auto result = group[0].all_reduce(input, {.layout = Layout::blocks}).wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::deadline_exceeded);
  EXPECT_NE(result.error().message.find("rank 1"), std::string::npos) << result.error().message;
  EXPECT_TRUE(same_bits(input, before));
}

TEST(Blocks, AnotherLayoutAtOneRankIsAMismatch) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor(5000, 1);
    const Layout layout = rank == 0 ? Layout::blocks : Layout::dense;
    const auto result = comm.all_reduce(tensor, {.layout = layout}).wait();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::mismatch) << result.error().message;
    // The caller does not know that such a layout begins with an `or`.
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr("asked for sum"),
                      HasSubstr("or, as layouts that leave zeros out begin with"),
                      HasSubstr("all ranks must ask for the same operation and the same layout")));
  });
}

TEST(Blocks, WhatCannotLeaveOutZerosIsRefused) {
  struct Refused {
    CallOptions options;
    const char* reason;
  };
  const Refused refused[] = {
      {{.reduction = Reduction::max, .layout = Layout::blocks}, "zeros count under max"},
      {{.wire = WireFormat::fixed32, .layout = Layout::blocks}, "fixed32 cannot leave out zeros"},
      {{.layout = static_cast<Layout>(9)}, "not a Layout"}};
  for (const Refused& each : refused) {
    LocalGroup group = make_group({.world = 1});
    std::vector<float> tensor(100);
    const auto result = group[0].all_reduce(tensor, each.options).wait();
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(each.reason), std::string::npos)
        << result.error().message;
  }
  LocalGroup group = make_group({.world = 1});
  std::vector<float> tensor(100);
  const auto result = group[0].broadcast(tensor, 0, {.layout = Layout::blocks}).wait();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("only all_reduce leaves out zeros"), std::string::npos);
}

}  // namespace
}  // namespace infold
