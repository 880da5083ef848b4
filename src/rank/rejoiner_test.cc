// SPDX-License-Identifier: Apache-2.0
//
// Tests a switch that goes away and comes back while a job runs.
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"

namespace infold {
namespace {

using std::chrono::seconds;
using testing::free_address;
using ::testing::HasSubstr;
using testing::options_of;
using testing::start_switch;

// Lets the last rank call only when the test has seen the calls of the other ranks.
class LateRank {
 public:
  explicit LateRank(int rank) : rank_(rank), all_so_far_(rank + 1) {}

  void before_call(const Communicator& comm) {
    if (comm.rank() != rank_) return;
    all_so_far_.count_down();
    may_call_.wait();
  }
  void after_call(const Communicator& comm) {
    if (comm.rank() != rank_) all_so_far_.count_down();
  }

  void wait_for_others() { all_so_far_.wait(); }
  void let_call() { may_call_.count_down(); }

 private:
  int rank_;
  std::latch all_so_far_, may_call_{1};
};

// A job whose switch the test stops and starts.
class Rejoining : public ::testing::Test {
 protected:
  static constexpr int kWorld = 3;

  Rejoining() : address_(free_address()), server_(start_switch(address_.c_str())) {
    options_ = options_of(0, kWorld);
    options_.switches = {address_};
  }

  void stop_switch() { server_.reset(); }
  void start_switch_again() { server_ = start_switch(address_.c_str()); }
  void restart_switch() {
    stop_switch();
    start_switch_again();
  }

  // Runs each rank's body on a thread, and the test's own function beside them.
  void run_ranks(const std::function<void(Communicator&)>& body, const std::function<void()>& test,
                 const testing::Hosts& hosts = {}) {
    std::thread beside(test);
    testing::run_job(kWorld, options_, body, hosts);
    beside.join();
  }

  // `meanwhile` runs while the last rank has not called and the others have.
  void run_with_a_late_rank(const std::function<void(Communicator&, LateRank&)>& body,
                            const std::function<void()>& meanwhile) {
    LateRank late(kWorld - 1);
    run_ranks([&](Communicator& comm) { body(comm, late); },
              [&] {
                late.wait_for_others();
                meanwhile();
                late.let_call();
              });
  }

  // The body begins when the switch is gone.
  void run_without_switch(const std::function<void(Communicator&)>& body) {
    std::latch idle(kWorld), gone(1);
    run_ranks(
        [&](Communicator& comm) {
          idle.count_down();
          gone.wait();
          body(comm);
        },
        [&] {
          idle.wait();
          stop_switch();
          gone.count_down();
        });
  }

  void sum_around_a_restart(const testing::Hosts& hosts = {}) {
    std::latch all_here(kWorld), may_call(1);
    run_ranks(
        [&](Communicator& comm) {
          testing::check_sums(comm);
          all_here.count_down();
          may_call.wait();
          testing::check_sums(comm);
        },
        [&] {
          all_here.wait();
          restart_switch();
          may_call.count_down();
        },
        hosts);
  }

  std::string address_;
  std::unique_ptr<switches::SwitchServer> server_;
  JoinOptions options_;
};

std::vector<float> ones(std::size_t elements) { return std::vector<float>(elements, 1.0F); }

TEST_F(Rejoining, CallsInFlightAreMadeAgain) {
  run_with_a_late_rank(
      [&](Communicator& comm, LateRank& late) {
        testing::check_sums(comm);
        std::vector<float> tensor = ones(50'000);
        late.before_call(comm);
        Handle call = comm.all_reduce(tensor);
        late.after_call(comm);
        const auto done = call.wait();
        ASSERT_TRUE(done.has_value()) << done.error().message;
        EXPECT_EQ(tensor, std::vector<float>(50'000, kWorld));
        testing::check_sums(comm);
      },
      [&] { restart_switch(); });
}

TEST_F(Rejoining, AlsoThroughSharedMemory) { sum_around_a_restart({"a", "a", "b"}); }

TEST_F(Rejoining, AlsoWhereRanksSumBesideTheSwitch) {
  options_.sites = Sites::mixed;
  sum_around_a_restart();
}

// The switch that stayed frees the job's name as soon as all ranks have left.
TEST_F(Rejoining, AlsoWhereAnotherSwitchStays) {
  const auto stays = start_switch("127.0.0.1:0");
  options_.switches.insert(options_.switches.begin(), stays->join_address().text());
  sum_around_a_restart();
}

// A job can come back any number of times, even with nothing in flight, and calls made meanwhile
// wait.
TEST_F(Rejoining, CallsMadeMeanwhileWait) {
  constexpr int kTimes = 3;
  std::latch idle[kTimes] = {std::latch(kWorld), std::latch(kWorld), std::latch(kWorld)};
  std::latch gone[kTimes] = {std::latch(1), std::latch(1), std::latch(1)};
  std::latch called[kTimes] = {std::latch(kWorld), std::latch(kWorld), std::latch(kWorld)};
  run_ranks(
      [&](Communicator& comm) {
        for (int time = 0; time < kTimes; ++time) {
          testing::check_sums(comm);
          idle[time].arrive_and_wait();
          gone[time].wait();
          std::vector<std::int32_t> small(5, 1), large(100'000, 1);
          Handle first = comm.all_reduce(small);
          Handle second = comm.all_reduce(large);
          called[time].count_down();
          const auto done = first.wait();
          ASSERT_TRUE(done.has_value()) << done.error().message;
          ASSERT_TRUE(second.wait().has_value());
          EXPECT_EQ(small, std::vector<std::int32_t>(5, kWorld));
          EXPECT_EQ(large, std::vector<std::int32_t>(100'000, kWorld));
        }
      },
      [&] {
        for (int time = 0; time < kTimes; ++time) {
          idle[time].wait();
          stop_switch();
          gone[time].count_down();
          called[time].wait();
          start_switch_again();
        }
      });
}

TEST_F(Rejoining, EveryKindOfCallIsMadeAgain) {
  run_with_a_late_rank(
      [&](Communicator& comm, LateRank& late) {
        const auto rank = static_cast<float>(comm.rank());
        std::vector<float> in_place = ones(3000), output(3000), root(10, rank), parts(30, rank);
        std::vector<float> own(10, rank), scattered(10), first(7, rank), second(5000, rank);
        std::vector<float> digits = ones(3000);
        const std::vector<float> input = ones(3000);
        const std::vector<MutableTensorView> list = {first, second};
        std::vector<float> sparse(4000);
        sparse[7] = 1;
        const std::vector<std::int64_t> indices = {comm.rank(), 90};
        const std::vector<float> values(2 * 33, 1);
        Rows rows;
        late.before_call(comm);
        std::vector<Handle> calls;
        calls.push_back(comm.all_reduce(in_place));
        calls.push_back(comm.all_reduce(input, output));
        calls.push_back(comm.all_reduce(input, output, {.wire = WireFormat::fixed32}));
        calls.push_back(comm.all_reduce(digits, {.wire = WireFormat::digits}));
        calls.push_back(comm.broadcast(root, 1));
        calls.push_back(comm.all_gather(own, parts));
        calls.push_back(comm.reduce_scatter(input, std::span(output).first(1000)));
        calls.push_back(comm.reduce(own, scattered, 0));
        calls.push_back(comm.all_reduce_list(list));
        calls.push_back(comm.all_reduce(sparse, {.layout = Layout::blocks}));
        calls.push_back(comm.all_reduce({indices, values, 100, 33}, rows));
        calls.push_back(comm.barrier());
        late.after_call(comm);
        for (Handle& call : calls) {
          const auto done = call.wait();
          ASSERT_TRUE(done.has_value()) << done.error().message;
        }
        EXPECT_EQ(in_place, std::vector<float>(3000, 3));
        EXPECT_EQ(digits, std::vector<float>(3000, 3));
        EXPECT_EQ(output, std::vector<float>(3000, 3));
        EXPECT_EQ(root, std::vector<float>(10, 1));
        EXPECT_EQ((std::vector<float>{parts[0], parts[10], parts[29]}),
                  (std::vector<float>{0, 1, 2}));
        EXPECT_EQ(scattered, std::vector<float>(10, comm.rank() == 0 ? 3 : 0));
        EXPECT_EQ(first, std::vector<float>(7, 3));
        EXPECT_EQ(second, std::vector<float>(5000, 3));
        EXPECT_EQ(sparse[7], 3);
        ASSERT_EQ(rows.indices().size(), 4U);
        EXPECT_EQ(static_cast<const float*>(rows.values().data)[3 * 33], 3);
      },
      [&] { restart_switch(); });
}

TEST_F(Rejoining, ComparedCallsComeBackToo) {
  options_.verify = true;
  run_with_a_late_rank(
      [&](Communicator& comm, LateRank& late) {
        testing::check_sums(comm);
        std::vector<float> tensor = ones(5000);
        late.before_call(comm);
        Handle call = comm.all_reduce(tensor);
        late.after_call(comm);
        const auto done = call.wait();
        ASSERT_TRUE(done.has_value()) << done.error().message;
        EXPECT_EQ(tensor, std::vector<float>(5000, kWorld));
      },
      [&] { restart_switch(); });
}

TEST_F(Rejoining, EndsWithTheDeadline) {
  options_.deadline = seconds(3);
  run_without_switch([&](Communicator& comm) {
    std::vector<float> tensor = ones(100);
    const auto failed = comm.all_reduce(tensor).wait();
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, Code::unavailable);
    EXPECT_THAT(failed.error().message, HasSubstr("all_reduce #1 ended because aggregator 0 at"));
    EXPECT_THAT(failed.error().message, HasSubstr("; it could not be joined again"));
    EXPECT_EQ(tensor, ones(100));
    EXPECT_EQ(comm.all_reduce(tensor).wait().error().code, Code::aborted);
  });
}

TEST_F(Rejoining, MayBeDeclined) {
  options_.rejoin = false;
  run_without_switch([&](Communicator& comm) {
    std::vector<float> tensor = ones(100);
    const auto failed = comm.all_reduce(tensor).wait();
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().message, ::testing::Not(HasSubstr("joined again")));
  });
}

TEST_F(Rejoining, IsNotForCallsWhoseInputMayBeGone) {
  options_.deadline = seconds(3);  // rank 2 waits for the others in vain
  run_with_a_late_rank(
      [&](Communicator& comm, LateRank& late) {
        std::vector<float> tensor = ones(5000);
        late.before_call(comm);
        Handle call = comm.all_reduce(tensor, {.keep_input = false});
        late.after_call(comm);
        EXPECT_FALSE(call.wait().has_value());
      },
      [&] { stop_switch(); });
}

TEST_F(Rejoining, IsCutShortByLeavingAndByGivingUp) {
  run_without_switch([&](Communicator& comm) {
    std::vector<float> tensor = ones(100);
    Handle call = comm.all_reduce(tensor);
    if (comm.rank() == 0) {
      call.cancel();
    } else {
      const Communicator leaves = std::move(comm);
    }
    const auto failed = call.wait();
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().message, HasSubstr("this rank"));
  });
}

}  // namespace
}  // namespace infold
