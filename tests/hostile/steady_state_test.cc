// SPDX-License-Identifier: Apache-2.0
//
// A training step makes the same calls over and over. After the first few steps, no call may take
// memory, on any of a job's threads.
#include <barrier>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <infold/communicator.h>
#include <infold/local_group.h>

#include "tests/hostile/allocations.h"

namespace infold::hostile {
namespace {

constexpr int kWorld = 3;
constexpr int kWarmUp = 5;
constexpr int kSteps = 20;

// One rank's tensors, and a step with every kind of call.
class Rank {
 public:
  explicit Rank(Communicator& communicator) : comm_(communicator) {
    const std::size_t parts = 100 * static_cast<std::size_t>(kWorld);
    gathered_.resize(parts);
    wide_.resize(parts, 1.0F);
    list_ = {small_, large_};
  }

  void step() {
    Handle overlapping = comm_.all_reduce(large_input_, large_output_);
    expect_done(comm_.all_reduce(small_));
    expect_done(comm_.all_reduce(small_, {.reduction = Reduction::max}));
    expect_done(comm_.all_reduce(small_, {.wire = WireFormat::fixed32}));
    expect_done(comm_.all_reduce(small_, {.wire = WireFormat::digits}));
    expect_done(comm_.all_reduce(large_, {.wire = WireFormat::digits}));
    expect_done(comm_.all_reduce_list(list_));
    expect_done(comm_.broadcast(small_, 1));
    expect_done(comm_.reduce(small_, small_, 2));
    expect_done(comm_.all_gather(small_, gathered_));
    expect_done(comm_.reduce_scatter(wide_, small_));
    expect_done(comm_.barrier());
    expect_done(std::move(overlapping));
  }

 private:
  static void expect_done(const Handle& call) { EXPECT_TRUE(call.wait().has_value()); }

  Communicator& comm_;
  std::vector<float> small_ = std::vector<float>(100, 1.0F);
  std::vector<float> large_ = std::vector<float>(20'000, 1.0F);
  std::vector<float> large_input_ = std::vector<float>(50'000, 1.0F);
  std::vector<float> large_output_ = std::vector<float>(50'000);
  std::vector<float> gathered_, wide_;
  std::vector<MutableTensorView> list_;
};

TEST(SteadyState, CallsTakeNoMemory) {
  Result<LocalGroup> group = LocalGroup::create({.world = kWorld});
  ASSERT_TRUE(group.has_value());
  std::uint64_t before = 0, after = 0;
  std::barrier together(kWorld);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorld; ++rank) {
    threads.emplace_back([&, rank] {
      Rank own((*group)[rank]);
      for (int step = 0; step < kWarmUp; ++step) own.step();
      together.arrive_and_wait();
      if (rank == 0) before = allocation_count();
      together.arrive_and_wait();
      for (int step = 0; step < kSteps; ++step) own.step();
      together.arrive_and_wait();
      if (rank == 0) after = allocation_count();
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace infold::hostile
