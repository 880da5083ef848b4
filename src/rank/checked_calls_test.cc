// SPDX-License-Identifier: Apache-2.0
//
// Tests members that verify: calls work as usual while all is well, and an error names the element
// if a path has changed what one rank received.

#include "rank/checked_calls.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.h"
#include "io/forwarding_endpoint.h"
#include "rank/member.h"
#include "rank/session/local_network.h"

namespace infold::rank {
namespace {

using ::infold::testing::expect_done;
using ::infold::testing::make_group;
using ::infold::testing::on_every_rank;
using ::testing::HasSubstr;

// A path that flips the lowest bit of the last element of long answers, as a broken network card
// would do after its checksum was verified. The path reads an i32 there, lowest byte first.
class CorruptingEndpoint final : public io::ForwardingEndpoint {
 public:
  using ForwardingEndpoint::ForwardingEndpoint;

  std::span<const io::Received> receive() override {
    constexpr std::size_t kLong = 1000;  // exchanges between checks are shorter
    const std::span<const io::Received> batch = ForwardingEndpoint::receive();
    changed_.assign(batch.begin(), batch.end());
    copies_.clear();
    copies_.reserve(batch.size());
    for (io::Received& each : changed_) {
      if (each.datagram.size() < kLong) continue;
      auto& copy = copies_.emplace_back(each.datagram.begin(), each.datagram.end());
      copy[copy.size() - 4] ^= std::byte{1};
      each.datagram = copy;
    }
    return changed_;
  }

 private:
  std::vector<io::Received> changed_;
  std::vector<std::vector<std::byte>> copies_;
};

// A verifying job in which the path of one rank is broken.
std::vector<Communicator> job_with_broken_rank(int world, int broken) {
  LocalGroupOptions options;
  options.world = world;
  const auto network = std::make_shared<LocalNetwork>(options);
  std::vector<Communicator> communicators;
  int rank = 0;
  for (LocalNetwork::RankEnd& end : network->take_ends()) {
    if (rank++ == broken)
      end.endpoint = std::make_unique<CorruptingEndpoint>(std::move(end.endpoint));
    MemberOptions member;
    member.worker = std::move(end.worker);
    member.deadline = std::chrono::seconds(10);
    member.membership = network;
    member.verify = true;
    communicators.emplace_back(
        Member::make(std::move(member), one_driver(std::move(end.endpoint))));
  }
  return communicators;
}

TEST(CheckedCalls, NameWhatOneRankGotElse) {
  std::vector<Communicator> ranks = job_with_broken_rank(4, 2);
  std::vector<std::thread> threads;
  for (Communicator& comm : ranks) {
    threads.emplace_back([&comm] {
      std::vector<std::int32_t> small(8, 1);
      expect_done(comm.all_reduce(small).wait(), 4);
      std::vector<std::int32_t> tensor(300, 10);
      const auto done = comm.all_reduce(tensor).wait();
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().message,
                "all_reduce #2: ranks hold different results: rank 2 has 41 at element 299, the "
                "others 40: 1 apart; the job is over on all ranks, make new communicators");
      EXPECT_EQ(done.error().code, Code::mismatch);
      EXPECT_EQ(done.error().rank, 2);
      EXPECT_STREQ(done.error().field, "result");
      const auto later = comm.barrier().wait();
      ASSERT_FALSE(later.has_value());
      EXPECT_EQ(later.error().code, Code::aborted);
      EXPECT_THAT(later.error().message, HasSubstr("barrier #3: the job had ended before (all_r"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CheckedCalls, NameCopiesThatDiffer) {
  std::vector<Communicator> ranks = job_with_broken_rank(3, 1);
  std::vector<std::thread> threads;
  for (Communicator& comm : ranks) {
    threads.emplace_back([&comm] {
      std::vector<std::int32_t> own(300, comm.rank()), all(900);
      const auto done = comm.all_gather(own, all).wait();
      ASSERT_FALSE(done.has_value());
      EXPECT_THAT(done.error().message,
                  HasSubstr("all_gather #1: ranks hold different results: rank 1 has 1 at element "
                            "299, the others 0: 1 apart"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The ranks hold their tensors and results in different forms: whole, in rows, in single elements.
TEST(CheckedCalls, NameSumsWithoutZerosThatDiffer) {
  std::vector<Communicator> ranks = job_with_broken_rank(4, 1);
  std::vector<std::thread> threads;
  for (Communicator& comm : ranks) {
    threads.emplace_back([&comm] {
      std::vector<std::int32_t> tensor(600);  // 38 quarters of its blocks are not zero
      std::fill_n(tensor.begin(), 300, 10);
      const std::size_t length = comm.rank() == 3 ? 1 : 100;
      std::vector<std::int64_t> indices(300 / length);
      std::iota(indices.begin(), indices.end(), 0);
      const TensorView values(tensor.data(), 300, DataType::i32);
      Rows rows;
      Handle call = comm.rank() < 2
                        ? comm.all_reduce(tensor, {.layout = Layout::blocks})
                        : comm.all_reduce({indices, values, 600 / length, length}, rows);
      const auto done = call.wait();
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().code, Code::mismatch);
      EXPECT_THAT(done.error().message,
                  HasSubstr("all_reduce #1: ranks hold different results: rank 1 has 1 at element "
                            "303, the others 0: 1 apart"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CheckedCalls, NameTensorsOfAListThatDiffer) {
  std::vector<Communicator> ranks = job_with_broken_rank(3, 0);
  std::vector<std::thread> threads;
  for (Communicator& comm : ranks) {
    threads.emplace_back([&comm] {
      std::vector<std::int32_t> first(100, 5), second(250, 10);
      Handle call;
      {
        const std::vector<MutableTensorView> list = {first, second};
        call = comm.all_reduce_list(list);
      }
      const auto done = call.wait();
      ASSERT_FALSE(done.has_value());
      EXPECT_THAT(done.error().message, HasSubstr("rank 0 has 31 at element 249, the others 30"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CheckedCalls, EveryCollectiveWorksWhileAllIsWell) {
  LocalGroup group = make_group({.world = 3, .faults = {.loss = 0.05}, .verify = true});
  on_every_rank(group, [](Communicator& comm, int rank) {
    std::vector<float> tensor(5000, static_cast<float>(rank)), sum(5000), part(5000), none;
    std::vector<float> all(15000);
    expect_done(comm.all_reduce(tensor, sum).wait(), 3);
    EXPECT_EQ(sum[4999], 3.0F);
    expect_done(comm.reduce(tensor, rank == 1 ? sum : none, 1).wait(), 3);
    expect_done(comm.broadcast(sum, 2).wait(), 1);
    expect_done(comm.all_gather(tensor, all).wait(), 3);
    EXPECT_EQ(all[14999], 2.0F);
    expect_done(comm.reduce_scatter(all, part).wait(), 3);
    EXPECT_EQ(part[0], static_cast<float>(3 * rank));
    expect_done(comm.barrier().wait(), 3);
    expect_done(comm.all_reduce(none).wait(), 3);
    EXPECT_EQ(comm.statistics().calls, 7U);
  });
}

TEST(CheckedCalls, StartingStaysImmediateAndOrderHolds) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  std::vector<std::vector<float>> tensors(64, std::vector<float>(100, 1.0F));
  // Both ranks run on one thread, so neither start may wait for the other rank.
  std::vector<std::vector<float>> others = tensors;
  std::vector<Handle> handles;
  for (auto& tensor : tensors) handles.push_back(group[0].all_reduce(tensor));
  EXPECT_EQ(handles.front().wait_for(std::chrono::milliseconds(1)).error().code, Code::pending);
  for (auto& tensor : others) handles.push_back(group[1].all_reduce(tensor));
  for (Handle& handle : handles) expect_done(handle.wait(), 2);
  EXPECT_EQ(tensors.back()[99], 2.0F);
}

TEST(CheckedCalls, LeavingEndsCallsThatWait) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  std::vector<float> first(10), second(10);
  Handle one, two;
  {
    Communicator comm = std::move(group[0]);
    one = comm.all_reduce(first);
    two = comm.all_reduce(second);
  }
  EXPECT_EQ(one.wait().error().code, Code::cancelled);
  const auto late = two.wait();
  EXPECT_EQ(late.error().code, Code::cancelled);
  EXPECT_THAT(late.error().message, HasSubstr("all_reduce #2: this rank has left the job"));
}

TEST(CheckedCalls, CancellingOneEndsTheJob) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  std::vector<float> first(10), second(10), other(10);
  Handle one = group[0].all_reduce(first);
  Handle two = group[0].all_reduce(second);
  two.cancel();
  EXPECT_FALSE(one.wait().has_value());
  EXPECT_FALSE(two.wait().has_value());
  EXPECT_FALSE(group[1].all_reduce(other).wait().has_value());
}

TEST(CheckedCalls, DeadlinesCountFromACallsTurn) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  std::vector<float> tensor(10);
  const auto done = group[0].all_reduce(tensor, {.deadline = std::chrono::milliseconds(50)}).wait();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::deadline_exceeded);
  EXPECT_THAT(done.error().message, HasSubstr("all_reduce #1 gave up"));
}

TEST(CheckedCalls, ARefusedCallSaysWhy) {
  LocalGroup group = make_group({.world = 1, .verify = true});
  std::vector<float> two(2), three(3);
  const auto done = group[0].all_reduce(two, three).wait();
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("all_reduce #1: the input has 2 elements"));
}

}  // namespace
}  // namespace infold::rank
