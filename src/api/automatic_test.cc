// SPDX-License-Identifier: Apache-2.0
//
// Calls with an automatic layout have the same bits as dense calls, even if ranks have different
// zeros and learn of results at different moments.
#include <cstring>
#include <latch>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "api/testing.h"
#include "base/prng.h"
#include "sparse/layout_choice.h"

namespace infold {
namespace {

using testing::expect_done;
using testing::make_group;
using testing::on_every_rank;
using testing::same_bits;

constexpr std::size_t kBehind = sparse::LayoutChoice::kBehind;
constexpr std::size_t kLong = sparse::LayoutChoice::kLongBytes / sizeof(float);

std::vector<float> draw(std::size_t elements, double density, std::uint64_t seed) {
  base::Prng prng(seed);
  std::vector<float> tensor(elements);
  for (std::size_t first = 0; first < elements; first += 32) {
    if (!prng.chance(density)) continue;
    for (std::size_t i = first; i < std::min(first + 32, elements); ++i) {
      tensor[i] = static_cast<float>(prng.uniform() - 0.5);
    }
  }
  return tensor;
}

// Some sizes are sparse at first and full later, some are sparse at one rank only, and one is
// short.
double density_of(std::size_t call, std::size_t calls, int rank) {
  switch (call % 5) {
    case 0: return 1.0;
    case 1: return call < calls / 2 ? 0.01 : 1.0;
    case 2: return rank == 0 ? 1.0 : 0.0;
    case 3: return 0.02 * (rank + 1);
    default: return rank == 1 ? 0 : 0.3;
  }
}
constexpr std::size_t kSizes[] = {kLong, kLong + 1, kLong + 77, 5000, 100'001};

TEST(AutomaticLayout, ManyInFlightOfSeveralSizesAndDensities) {
  constexpr std::size_t kCalls = 5 * kBehind;
  constexpr std::size_t kInFlight = 10;
  LocalGroup group = make_group({.world = 3});
  std::vector<std::uint64_t> sparse_calls(3);
  on_every_rank(group, [&](Communicator& comm, int rank) {
    base::Prng pauses(static_cast<std::uint64_t>(rank));
    for (std::size_t first = 0; first < kCalls; first += kInFlight) {
      std::vector<std::vector<float>> inputs, chosen, dense;
      for (std::size_t call = first; call < first + kInFlight; ++call) {
        inputs.push_back(draw(kSizes[call % 5] / 8, density_of(call, kCalls, rank), call * 3));
        chosen.emplace_back(inputs.back().size(), 5.0F);
        dense.emplace_back(inputs.back().size());
      }
      std::vector<Handle> handles;
      for (std::size_t i = 0; i < kInFlight; ++i) {
        handles.push_back(comm.all_reduce(inputs[i], chosen[i], {.layout = Layout::automatic}));
        if (pauses.chance(0.3)) expect_done(handles.back().wait(), 3);
        handles.push_back(comm.all_reduce(inputs[i], dense[i]));
      }
      for (Handle& handle : handles) expect_done(handle.wait(), 3);
      for (std::size_t i = 0; i < kInFlight; ++i) {
        EXPECT_TRUE(same_bits(chosen[i], dense[i])) << first + i;
      }
    }
    sparse_calls[static_cast<std::size_t>(rank)] = comm.statistics().calls_sparse;
  });
  EXPECT_EQ(sparse_calls[1], sparse_calls[0]);
  EXPECT_EQ(sparse_calls[2], sparse_calls[0]);
  EXPECT_GT(sparse_calls[0], 0U);
  EXPECT_LT(sparse_calls[0], kCalls);
}

TEST(AutomaticLayout, LooksAtFullTensorsNowAndThen) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor = draw(kLong, 1, static_cast<std::uint64_t>(rank));
    const auto call = [&] {
      expect_done(comm.all_reduce(tensor, {.layout = Layout::automatic}).wait(), 2);
    };
    for (std::size_t i = 0; i < kBehind; ++i) call();
    EXPECT_EQ(comm.statistics().calls_sparse, kBehind) << "nothing was known";
    for (std::size_t i = 0; i < kBehind; ++i) call();
    EXPECT_EQ(comm.statistics().calls_sparse, kBehind + 1);
  });
}

// Has more calls in flight than a choice looks back, so that a call must wait for the call on which
// its choice rests.
TEST(AutomaticLayout, MoreCallsInFlightThanTheChoiceLooksBack) {
  LocalGroup group = make_group({.world = 2, .faults = {.loss = 0.01, .seed = 4}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const auto input = draw(20'000, 0.1, static_cast<std::uint64_t>(rank));
    std::vector<float> dense(input.size());
    expect_done(comm.all_reduce(input, dense).wait(), 2);
    std::vector<std::vector<float>> outputs(3 * kBehind, std::vector<float>(input.size()));
    std::vector<Handle> handles;
    for (auto& output : outputs) {
      handles.push_back(comm.all_reduce(input, output, {.layout = Layout::automatic}));
    }
    for (Handle& handle : handles) expect_done(handle.wait(), 2);
    for (const auto& output : outputs) EXPECT_TRUE(same_bits(output, dense));
  });
}

TEST(AutomaticLayout, ALateRankEndsTheWaitForAChoiceToo) {
  LocalGroup group = make_group({.world = 2, .deadline = std::chrono::milliseconds(300)});
  std::vector<std::vector<float>> tensors(kBehind + 2, draw(20'000, 0.1, 1));
  std::vector<Handle> handles;
  for (auto& tensor : tensors) {
    handles.push_back(group[0].all_reduce(tensor, {.layout = Layout::automatic}));
  }
  const auto first = handles.front().wait();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::deadline_exceeded);
  const auto last = handles.back().wait();
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Code::aborted) << last.error().message;
}

TEST(AutomaticLayout, IsDenseWhereZerosCannotBeLeftOut) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<float> tensor(kLong), parts(2 * kLong);
    const Layout layout = Layout::automatic;
    expect_done(comm.all_reduce(tensor, {.reduction = Reduction::max, .layout = layout}).wait(), 2);
    expect_done(comm.all_reduce(tensor, {.wire = WireFormat::fixed32, .layout = layout}).wait(), 2);
    expect_done(comm.all_reduce(tensor, {.wire = WireFormat::digits, .layout = layout}).wait(), 2);
    const std::vector<MutableTensorView> list = {tensor, parts};
    expect_done(comm.all_reduce_list(list, {.layout = layout}).wait(), 2);
    expect_done(comm.broadcast(tensor, 0, {.layout = layout}).wait(), 1);
    expect_done(comm.all_gather(tensor, parts, {.layout = layout}).wait(), 2);
    expect_done(comm.reduce_scatter(parts, tensor, {.layout = layout}).wait(), 2);
    std::vector<float> shorter(4095);
    expect_done(comm.all_reduce(shorter, {.layout = layout}).wait(), 2);
    EXPECT_EQ(comm.statistics().calls_sparse, 0U);
    expect_done(comm.all_reduce(tensor, {.layout = layout}).wait(), 2);
    EXPECT_EQ(comm.statistics().calls_sparse, 1U);
  });
}

// Ranks join again while calls are in flight whose layouts some ranks have chosen already.
TEST(AutomaticLayout, StaysTheSameWhenCallsAreMadeAgain) {
  constexpr int kWorld = 3;
  const std::string address = testing::free_address();
  auto server = testing::start_switch(address.c_str());
  JoinOptions options = testing::options_of(0, kWorld);
  options.switches = {address};
  std::latch some_are_done(kWorld), others_have_called(kWorld), may_call(1);
  std::thread beside([&] {
    others_have_called.wait();
    server.reset();
    server = testing::start_switch(address.c_str());
    may_call.count_down();
  });
  testing::run_job(kWorld, options, [&](Communicator& comm) {
    const auto input = draw(kLong / 4, 0.05, static_cast<std::uint64_t>(comm.rank()));
    std::vector<float> dense(input.size());
    const CallOptions automatic = {.layout = Layout::automatic};
    expect_done(comm.all_reduce(input, dense).wait(), kWorld);
    for (std::size_t i = 0; i < kBehind - 4; ++i) {
      std::vector<float> output(input.size());
      expect_done(comm.all_reduce(input, output, automatic).wait(), kWorld);
    }
    some_are_done.arrive_and_wait();
    if (comm.rank() + 1 == kWorld) others_have_called.count_down();
    if (comm.rank() + 1 == kWorld) may_call.wait();
    std::vector<std::vector<float>> outputs(20, std::vector<float>(input.size()));
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i == 3 && comm.rank() + 1 < kWorld) others_have_called.count_down();
      handles.push_back(comm.all_reduce(input, outputs[i], automatic));
    }
    for (Handle& handle : handles) expect_done(handle.wait(), kWorld);
    for (const auto& output : outputs) EXPECT_TRUE(same_bits(output, dense));
  });
  beside.join();
}

}  // namespace
}  // namespace infold
