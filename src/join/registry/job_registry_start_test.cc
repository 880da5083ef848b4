// SPDX-License-Identifier: Apache-2.0
//
// Events while the plane starts a job, which may take long.
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RegistryStart : public Registry {
 protected:
  // The plane begins to start the job, then this happens, then the plane has started the job.
  void start_meanwhile(const std::vector<Rank>& ranks, const std::function<void()>& action) {
    int starts = 0;
    plane_.while_starting([&](const JobTerms&) {
      if (starts++ == 0) action();
    });
    make_ready(ranks);
    plane_.while_starting(nullptr);
    EXPECT_EQ(starts, 1);
  }
  void expect_nothing_left() {
    EXPECT_EQ(plane_.forgotten().size(), plane_.started().size());
    EXPECT_EQ(registry_.slots_free(), 1000U);
    EXPECT_THAT(registry_.status(), IsEmpty());
  }
};

TEST_F(RegistryStart, ARankThatGoesIsNamedToTheOthersAtOnce) {
  const auto ranks = fill(2);
  start_meanwhile(ranks, [&] {
    leave(ranks[0], Parting::lost);
    expect_refused(ranks[1], RefusalReason::too_late, "rank 0 was lost while joining");
    EXPECT_EQ(registry_.slots_free(), 488U) << "as long as the plane may have them";
  });
  EXPECT_EQ(plane_.started().size(), 1U);
  expect_nothing_left();
}

TEST_F(RegistryStart, OfAJobThatEndedTheNameIsFreeAtOnceAndTheNumberLater) {
  const auto ranks = fill(2);
  const std::uint16_t number = ranks[0].ear->terms()->job;
  std::vector<Rank> next;
  start_meanwhile(ranks, [&] {
    leave(ranks);
    next = fill(2);
    EXPECT_NE(next[0].ear->terms()->job, number);
  });
  EXPECT_THAT(plane_.forgotten(), ElementsAre(number));
  make_ready(next);
  EXPECT_TRUE(next[1].ear->groups().has_value());
  leave(next);
  expect_nothing_left();
}

// All other numbers are in use by jobs that joined meanwhile: the one that is starting stays out.
TEST_F(RegistryStart, ItsNumberIsGivenToNoOtherJob) {
  plane_.slots = 4'000'000;
  const auto ranks = fill(1);
  const std::uint16_t number = ranks[0].ear->terms()->job;
  start_meanwhile(ranks, [&] {
    leave(ranks);
    for (int life = 0; life < 70'000; ++life) {
      const Rank rank = come(hello_of(0, 1, "other"));
      ASSERT_NE(rank.ear->terms()->job, number);
      leave(rank);
    }
  });
}

TEST_F(RegistryStart, ADeadlineThatPassesIsKept) {
  const auto ranks = fill(2);
  start_meanwhile(ranks, [&] {
    pass(base::seconds(20));
    for (const Rank& rank : ranks) {
      expect_refused(rank, RefusalReason::too_late,
                     "job 'job': the switch did not start it before rank 0's deadline");
    }
  });
  expect_nothing_left();
}

TEST_F(RegistryStart, ADeadlineCountsNoMoreOnceTheJobRuns) {
  const auto ranks = run(2);
  pass(base::seconds(20));
  for (const Rank& rank : ranks) EXPECT_FALSE(rank.ear->refusal() || rank.ear->was_dismissed());
  EXPECT_EQ(registry_.next_deadline(), base::Instant::never());
}

TEST_F(RegistryStart, StoppingRefusesTheJobAndForgetsIt) {
  const auto ranks = fill(2);
  start_meanwhile(ranks, [&] {
    registry_.stop();
    registry_.work();
    expect_refused(ranks[1], RefusalReason::stopping, "the switch is stopping");
  });
  expect_nothing_left();
}

TEST_F(RegistryStart, ASecondJobOfTheNameIsRefused) {
  const auto ranks = fill(2);
  start_meanwhile(ranks, [&] {
    expect_refused(come(hello_of(0, 2)), RefusalReason::in_use, "'job' is running");
  });
  for (const Rank& rank : ranks) EXPECT_TRUE(rank.ear->groups().has_value());
}

TEST_F(RegistryStart, APlaneThatRefusesAJobWithoutRanksLeavesNothing) {
  const auto ranks = fill(2);
  start_meanwhile(ranks, [&] {
    leave(ranks);
    plane_.refuse({RefusalReason::full, "no room", -1});
  });
  EXPECT_THAT(plane_.forgotten(), IsEmpty());
  expect_nothing_left();
}

TEST_F(RegistryStart, AJobThatEndsBeforeItsTurnIsNotStarted) {
  const auto ranks = fill(2);
  for (const Rank& rank : ranks) registry_.ready(rank.entry, {});
  registry_.leave(ranks[0].entry, Parting::lost);
  EXPECT_EQ(registry_.slots_free(), 488U);
  registry_.work();
  expect_refused(ranks[1], RefusalReason::too_late, "rank 0 was lost while joining");
  EXPECT_THAT(plane_.started(), IsEmpty());
  expect_nothing_left();
}

// With the registry's threads, as servers have it.
TEST(RegistryThreads, OtherJobsComeAndGoWhileOneStarts) {
  FakePlane plane(1);
  std::promise<void> may_start;
  std::atomic<bool> starts = false;
  plane.while_starting([&, gate = may_start.get_future().share()](const JobTerms&) {
    starts = true;
    gate.wait();
  });
  JobRegistry registry(&plane);
  const auto enter = [&](const Hello& hello) {
    const auto ear = std::make_shared<Ear>();
    return Rank{registry.enter(hello, ear), ear};
  };
  const Rank slow = enter(hello_of(0, 1, "slow"));
  registry.ready(slow.entry, {});
  while (!starts) std::this_thread::yield();

  const Rank first = enter(hello_of(0, 2, "other")), second = enter(hello_of(1, 2, "other"));
  while (!first.ear->terms() || !second.ear->terms()) std::this_thread::yield();
  registry.leave(first.entry, Parting::lost);
  while (!second.ear->refusal() || !first.ear->was_dismissed()) std::this_thread::yield();
  Hello hasty = hello_of(0, 2, "hasty");
  hasty.patience = std::chrono::milliseconds(20);
  const Rank late = enter(hasty);
  while (!late.ear->refusal()) std::this_thread::yield();
  EXPECT_FALSE(slow.ear->groups().has_value());

  may_start.set_value();
  while (!slow.ear->groups()) std::this_thread::yield();
}

// Else a rank whose next job needs these slots would be refused.
TEST(RegistryThreads, TheLastRankIsDismissedWhenTheSlotsAreFree) {
  FakePlane plane(1);
  std::promise<void> may_start;
  std::atomic<int> starts = 0;
  plane.while_starting([&, gate = may_start.get_future().share()](const JobTerms&) {
    if (++starts == 2) gate.wait();
  });
  JobRegistry registry(&plane);
  const auto enter = [&](const Hello& hello) {
    const auto ear = std::make_shared<Ear>();
    return Rank{registry.enter(hello, ear), ear};
  };
  const Rank first = enter(hello_of(0, 1, "first"));
  registry.ready(first.entry, {});
  while (!first.ear->groups()) std::this_thread::yield();
  const Rank slow = enter(hello_of(0, 1, "slow"));
  registry.ready(slow.entry, {});
  while (starts < 2) std::this_thread::yield();

  registry.leave(first.entry, Parting::in_order);
  const Rank refused = enter(hello_of(0, 1, "slow"));
  while (!refused.ear->refusal()) std::this_thread::yield();
  EXPECT_FALSE(first.ear->was_dismissed()) << "the plane still has the job";
  may_start.set_value();
  while (!first.ear->was_dismissed()) std::this_thread::yield();
  EXPECT_EQ(registry.slots_free(), 4096U - 512);
}

TEST(RegistryThreads, AStartThatRunsWhenTheRegistryGoesIsForgotten) {
  FakePlane plane(1);
  std::atomic<bool> starts = false;
  std::promise<void> may_start;
  plane.while_starting([&, gate = may_start.get_future().share()](const JobTerms&) {
    starts = true;
    gate.wait();
  });
  const auto ear = std::make_shared<Ear>();
  {
    JobRegistry registry(&plane);
    const Registrar::Entry entry = registry.enter(hello_of(0, 1), ear);
    registry.ready(entry, {});
    while (!starts) std::this_thread::yield();
    registry.stop();
    while (!ear->refusal()) std::this_thread::yield();
    may_start.set_value();
  }
  EXPECT_EQ(plane.started().size(), 1U);
  EXPECT_EQ(plane.forgotten().size(), 1U);
}

}  // namespace
}  // namespace infold::join::testing
