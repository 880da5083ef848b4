// SPDX-License-Identifier: Apache-2.0
//
// Tests failures: ranks that disagree, stay away, give up or leave, and arguments that make no
// sense. In each case every rank gets one clear error in bounded time, and its tensors do not
// change.

#include <chrono>
#include <vector>

#include "api/testing.h"

namespace infold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::error_of;
using testing::expect_done;
using ::testing::HasSubstr;
using testing::make_group;
using testing::MaybeError;
using testing::on_every_rank;

TEST(Failure, IsWhatACallWasTold) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor(10, 1.0F);
    expect_done(comm.all_reduce(tensor).wait(), 2);
    EXPECT_FALSE(comm.failure().has_value());
    if (rank == 1) {
      comm = Communicator();
      EXPECT_FALSE(comm.failure().has_value());
      return;
    }
    const MaybeError told = error_of(comm.all_reduce(tensor).wait());
    ASSERT_TRUE(told.has_value());
    const MaybeError failure = comm.failure();
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->code, Code::cancelled);
    EXPECT_EQ(failure->rank, 1);
    EXPECT_EQ(failure->message, told->message);
  });
}

TEST(Failures, AMissingRankIsNamedAtTheDeadline) {
  LocalGroup group = make_group({.world = 3, .deadline = milliseconds(300)});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    if (rank == 1) return;
    std::vector<float> tensor(5000, 2.0F);
    const auto start = std::chrono::steady_clock::now();
    const MaybeError error = error_of(comm.all_reduce(tensor).wait());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::deadline_exceeded);
    EXPECT_EQ(error->rank, 1) << error->message;
    EXPECT_THAT(error->message, HasSubstr("waiting for rank 1"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
    EXPECT_EQ(tensor, std::vector<float>(5000, 2.0F));
  });
}

TEST(Failures, AMissingRackIsNamedThroughATree) {
  LocalGroup group = make_group({.world = 6, .rack_size = 2, .deadline = milliseconds(500)});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    if (rank == 2 || rank == 3) return;
    const MaybeError error = error_of(comm.barrier().wait());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::deadline_exceeded);
    EXPECT_EQ(error->rank, 2) << error->message;
  });
}

TEST(Failures, AWaitThatRunsOutNamesTheRankAndTheCallGoesOn) {
  LocalGroup group = make_group({.world = 2});
  std::vector<float> tensor(10, 1.0F);
  Handle handle = group[0].all_reduce(tensor);
  // The aggregator tells which ranks are missing when it is asked, which takes a few round trips.
  MaybeError error = error_of(handle.wait_for(milliseconds(1)));
  while (error && error->rank < 0) error = error_of(handle.wait_for(milliseconds(20)));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, Code::pending);
  EXPECT_THAT(error->message, HasSubstr("all_reduce #1 is not done after"));
  EXPECT_THAT(error->message, HasSubstr("waiting for rank 1"));
  EXPECT_FALSE(handle.test());
  std::vector<float> other(10, 2.0F);
  expect_done(group[1].all_reduce(other).wait(), 2);
  expect_done(handle.wait_for(seconds(10)), 2);
  EXPECT_TRUE(handle.test());
  EXPECT_EQ(tensor, std::vector<float>(10, 3.0F));
}

TEST(Failures, CancelEndsTheJobEverywhereAndLaterCallsSayWhy) {
  LocalGroup group = make_group({.world = 3});
  std::vector<float> tensors[3] = {std::vector<float>(10), std::vector<float>(10),
                                   std::vector<float>(10)};
  Handle first = group[0].all_reduce(tensors[0]);
  Handle second = group[1].all_reduce(tensors[1]);
  first.cancel();
  const MaybeError own = error_of(first.wait());
  const MaybeError others = error_of(second.wait());
  ASSERT_TRUE(own && others);
  EXPECT_EQ(own->code, Code::cancelled);
  EXPECT_EQ(others->code, Code::cancelled);
  EXPECT_EQ(others->rank, 0);
  EXPECT_THAT(others->message, HasSubstr("rank 0 gave a call up"));
  const MaybeError later = error_of(group[1].barrier().wait());
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->code, Code::aborted);
  EXPECT_THAT(later->message, HasSubstr("rank 0 gave a call up"));
  EXPECT_TRUE(error_of(group[2].all_reduce(tensors[2]).wait()).has_value());
}

TEST(Failures, LeavingWithCallsInFlightTellsTheOthersWho) {
  LocalGroup group = make_group({.world = 3});
  std::vector<float> tensors[3] = {std::vector<float>(100), std::vector<float>(100),
                                   std::vector<float>(100)};
  Handle of_leaver;
  {
    Communicator leaver = std::move(group[2]);
    of_leaver = leaver.all_reduce(tensors[2]);
  }
  EXPECT_TRUE(of_leaver.test());
  EXPECT_EQ(error_of(of_leaver.wait())->code, Code::cancelled);
  const MaybeError error = error_of(group[0].all_reduce(tensors[0]).wait());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, Code::cancelled);
  EXPECT_EQ(error->rank, 2);
  EXPECT_THAT(error->message, HasSubstr("rank 2 left the job"));
}

TEST(Failures, LeavingAfterTheLastCallTakesNoResultFromOthers) {
  for (int round = 0; round < 20; ++round) {
    LocalGroup group = make_group(
        {.world = 4, .faults = {.loss = 0.2, .seed = 100U + static_cast<unsigned>(round)}});
    on_every_rank(group, [&](Communicator& comm, int) {
      Communicator mine = std::move(comm);
      std::vector<float> tensor(3000, 1.0F);
      expect_done(mine.all_reduce(tensor).wait(), 4);
      EXPECT_EQ(tensor, std::vector<float>(3000, 4.0F));
    });
  }
}

TEST(Failures, BadArgumentsAreRefusedWithTheirNumbers) {
  std::vector<float> tensor(100);
  std::vector<float> shorter(99);
  std::vector<std::int32_t> integers(100);
  float* const null = nullptr;
  struct Case {
    std::function<Handle(Communicator&)> call;
    Code code;
    const char* text;
  };
  const std::vector<Case> cases = {
      {[&](auto& comm) { return comm.all_reduce(std::span<float>(null, 100)); },
       Code::invalid_argument, "100 elements and a null address"},
      {[&](auto& comm) { return comm.all_reduce(tensor, std::span<float>(null, 100)); },
       Code::invalid_argument, "the output has 100 elements and a null address"},
      {[&](auto& comm) { return comm.all_reduce(tensor, shorter); }, Code::invalid_argument,
       "the input has 100 elements, the output 99"},
      {[&](auto& comm) { return comm.all_reduce(tensor, integers); }, Code::invalid_argument,
       "the input is f32, the output i32"},
      {[&](auto& comm) { return comm.broadcast(tensor, 2); }, Code::out_of_range,
       "root 2 is not a rank; ranks are 0 to 1"},
      {[&](auto& comm) { return comm.reduce(tensor, tensor, -1); }, Code::out_of_range, "root -1"},
      {[&](auto& comm) { return comm.barrier({.deadline = seconds(-1)}); }, Code::out_of_range,
       "deadline is negative"},
      {[&](auto& comm) {
         return comm.all_reduce({tensor.data(), std::size_t{1} << 40, DataType::f32});
       },
       Code::out_of_range, "the most is 4294967295"},
      {[&](auto& comm) { return comm.all_reduce({tensor.data(), 100, DataType{77}}); },
       Code::invalid_argument, "not a DataType"},
      {[&](auto& comm) { return comm.all_reduce(integers, {.wire = WireFormat::bfp16}); },
       Code::unsupported, "bfp16 is for sums and averages of floats"},
      {[&](auto& comm) { return comm.all_reduce(tensor, {.reduction = Reduction{9}}); },
       Code::invalid_argument, "not a Reduction"},
      {[&](auto& comm) { return comm.all_reduce(tensor, {.wire = WireFormat{9}}); },
       Code::invalid_argument, "not a WireFormat"},
  };
  for (const Case& bad : cases) {
    LocalGroup group = make_group({.world = 2});
    const MaybeError error = error_of(bad.call(group[0]).wait());
    ASSERT_TRUE(error.has_value()) << bad.text;
    EXPECT_EQ(error->code, bad.code) << error->message;
    EXPECT_THAT(error->message, HasSubstr(bad.text));
    // The other rank learns of it at its next call, and does not wait until its deadline.
    const MaybeError others = error_of(group[1].all_reduce(tensor).wait());
    ASSERT_TRUE(others.has_value());
    EXPECT_EQ(others->code, Code::cancelled);
    EXPECT_EQ(others->rank, 0);
  }
}

TEST(Failures, AFailedCallInFlightLeavesAllItsTensorsAlone) {
  LocalGroup group = make_group({.world = 2, .deadline = milliseconds(300)});
  const std::vector<float> input(50'000, 1.0F);
  std::vector<float> output(50'000, 7.0F);
  std::vector<float> in_place(50'000, 3.0F);
  Handle first = group[0].all_reduce(input, output);
  Handle second = group[0].all_reduce(in_place);
  // Rank 1 takes part in a first call of which only a part succeeds, because rank 1 passes fewer
  // elements.
  std::vector<float> other(49'000, 1.0F);
  Handle odd = group[1].all_reduce(other);
  EXPECT_TRUE(error_of(first.wait()) && error_of(second.wait()) && error_of(odd.wait()));
  EXPECT_EQ(input, std::vector<float>(50'000, 1.0F));
  EXPECT_EQ(output, std::vector<float>(50'000, 7.0F));
  EXPECT_EQ(in_place, std::vector<float>(50'000, 3.0F));
  EXPECT_EQ(other, std::vector<float>(49'000, 1.0F));
}

TEST(Failures, WithoutAJobEveryCallSaysSo) {
  Communicator none;
  std::vector<float> tensor(10);
  for (Handle* handle : {new Handle(none.all_reduce(tensor)), new Handle(none.barrier())}) {
    const MaybeError error = error_of(handle->wait());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::invalid_argument);
    EXPECT_TRUE(handle->test());
    handle->cancel();
    delete handle;
  }
  EXPECT_EQ(none.rank(), -1);
  EXPECT_EQ(none.world(), 0);
  LocalGroup group = make_group({.world = 1});
  EXPECT_EQ(group[1].rank(), -1);
  EXPECT_EQ(group[-1].rank(), -1);
}

TEST(Failures, GroupOptionsOutOfRangeAreNamed) {
  const auto message = [](const LocalGroupOptions& options) {
    const auto group = LocalGroup::create(options);
    return group ? std::string("no error") : group.error().message;
  };
  EXPECT_THAT(message({.world = 0}), HasSubstr("world is 0; allowed: 1 to 1024"));
  EXPECT_THAT(message({.world = 1025}), HasSubstr("world is 1025"));
  EXPECT_THAT(message({.world = 257}), HasSubstr("rack_size is 0; allowed: with 257 ranks, racks"));
  EXPECT_THAT(message({.world = 1000, .rack_size = 3}), HasSubstr("rack_size is 3"));
  EXPECT_THAT(message({.world = 1000, .rack_size = 257}), HasSubstr("rack_size is 257"));
  EXPECT_THAT(message({.site_weights = {}}), HasSubstr("site_weights is 0 long"));
  EXPECT_THAT(message({.site_weights = {1, 65}}), HasSubstr("site_weights is 65 in one entry"));
  EXPECT_THAT(message({.rack_size = 1}), HasSubstr("rack_size is 1"));
  EXPECT_THAT(message({.faults = {.loss = 1.5}}), HasSubstr("faults.loss is 1.5"));
  EXPECT_THAT(message({.mtu_bytes = 100}), HasSubstr("mtu_bytes is 100"));
  EXPECT_THAT(message({.deadline = seconds(0)}), HasSubstr("deadline is 0 ns"));
}

}  // namespace
}  // namespace infold
