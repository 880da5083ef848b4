// SPDX-License-Identifier: Apache-2.0
//
// Tests many tensors in one call: they have the bits of separate calls, in fewer packets. Also
// tests priorities.

#include <cmath>
#include <vector>

#include "api/testing.h"

namespace infold {
namespace {

using testing::expect_done;
using testing::make_group;
using testing::on_every_rank;

constexpr std::size_t kSizes[] = {1, 31, 32, 33, 0, 5000, 2048, 2049, 7, 64};

std::vector<std::vector<float>> tensors_of(int rank) {
  std::vector<std::vector<float>> tensors;
  for (const std::size_t size : kSizes) {
    std::vector<float>& tensor = tensors.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i) {
      const auto angle = static_cast<float>(i * 7 + size + static_cast<std::size_t>(rank) * 3);
      tensor[i] = std::sin(angle) * std::ldexp(1.0F, static_cast<int>(i % 40) - 20);
    }
  }
  return tensors;
}

std::vector<MutableTensorView> views_of(std::vector<std::vector<float>>& tensors) {
  return {tensors.begin(), tensors.end()};
}

class Lists : public ::testing::TestWithParam<WireFormat> {};

TEST_P(Lists, GiveTheBitsOfEachTensorAlone) {
  for (const bool keep_input : {true, false}) {
    const CallOptions options{
        .reduction = Reduction::average, .wire = GetParam(), .keep_input = keep_input};
    LocalGroup group = make_group({.world = 3});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      auto together = tensors_of(rank);
      auto alone = tensors_of(rank);
      expect_done(comm.all_reduce_list(views_of(together), options).wait(), 3);
      for (auto& tensor : alone) expect_done(comm.all_reduce(tensor, options).wait(), 3);
      EXPECT_EQ(together, alone);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Api, Lists,
                         ::testing::Values(WireFormat::native, WireFormat::digits,
                                           WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8),
                         [](const auto& instance) { return wire_format_name(instance.param); });

TEST(List, ManySmallTensorsShareFewPackets) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<std::vector<std::int32_t>> tensors(100, std::vector<std::int32_t>(3, 2));
    const std::vector<MutableTensorView> views(tensors.begin(), tensors.end());
    expect_done(comm.all_reduce_list(views).wait(), 2);
    for (const auto& tensor : tensors) EXPECT_EQ(tensor, std::vector<std::int32_t>(3, 4));
    // All 300 elements fit into one packet; a slow machine may have to ask or to repeat.
    const Statistics statistics = comm.statistics();
    EXPECT_EQ(statistics.packets_sent - statistics.packets_asked - statistics.packets_resent, 1U);
  });
}

TEST(List, OfNothingWaitsForAllRanks) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    expect_done(comm.all_reduce_list({}).wait(), 2);
    std::vector<float> empty;
    const MutableTensorView list[] = {empty, empty};
    expect_done(comm.all_reduce_list(list).wait(), 2);
  });
}

TEST(List, ThatIsNotSoundIsRefusedWithThePlace) {
  std::vector<float> floats(3);
  std::vector<std::int32_t> integers(3);
  const MutableTensorView mixed[] = {floats, integers};
  const MutableTensorView null[] = {floats, {nullptr, 4, DataType::f32}};
  const auto text_of = [](std::span<const MutableTensorView> list, CallOptions options = {}) {
    LocalGroup group = make_group({.world = 1});
    const auto result = group[0].all_reduce_list(list, options).wait();
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_THAT(text_of(mixed), ::testing::HasSubstr("tensor 1 of the list is i32, the first f32"));
  EXPECT_THAT(text_of(null),
              ::testing::HasSubstr("tensor 1 of the list has 4 elements and a null"));
  EXPECT_THAT(text_of(std::span(mixed).first(1), {.wire = WireFormat::fixed32}),
              ::testing::HasSubstr("fixed32 cannot carry a list"));
}

TEST(List, ThatFailsLeavesAllItsTensorsAlone) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    auto tensors = tensors_of(rank);
    if (rank == 1) tensors.back().resize(2000, 1.0F);
    const auto before = tensors;
    EXPECT_FALSE(comm.all_reduce_list(views_of(tensors)).wait().has_value());
    EXPECT_EQ(tensors, before);
  });
}

TEST(Priorities, ChangeNoBit) {
  std::vector<float> sums[3];
  for (const Priority priority : {Priority::automatic, Priority::urgent, Priority::background}) {
    LocalGroup group = make_group({.world = 2});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      std::vector<float> large(200'000), small(10);
      for (std::size_t i = 0; i < large.size(); ++i) {
        large[i] = std::sin(static_cast<float>(i) + static_cast<float>(rank));
      }
      Handle first = comm.all_reduce(large, {.priority = priority});
      Handle second = comm.all_reduce(small, {.priority = priority});
      expect_done(second.wait(), 2);
      expect_done(first.wait(), 2);
      if (rank == 0) sums[static_cast<int>(priority)] = large;
    });
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

}  // namespace
}  // namespace infold
