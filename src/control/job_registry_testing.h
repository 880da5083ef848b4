// SPDX-License-Identifier: Apache-2.0
//
// For tests of the registry: all ranks of a job, each on a thread of its own.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "control/job_registry.h"
#include "control/testing.h"

namespace infold::control::testing {

class Registry : public ::testing::Test {
 protected:
  // All ranks of a job, each entering from a thread of its own.
  std::vector<JobRegistry::Seat> fill(std::uint32_t world, const std::string& job = "job") {
    std::vector<JobRegistry::Seat> seats(world);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        RankWords own = words(rank, world, job);
        if (!hosts_.empty()) own.host = RankHost{hosts_[rank], "meet-" + std::to_string(rank)};
        own.element_bytes = element_bytes_;
        own.always_shares = always_shares_;
        if (has_sites_) own.site = SiteAddress{"10.0.0.1:1", 1};
        const auto seat = registry_.enter(own, {});
        ASSERT_TRUE(seat.has_value()) << seat.error().message;
        seats[rank] = *seat;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return seats;
  }

  // The same for ready(); what each was answered.
  std::vector<Answer<void>> say_ready(const std::vector<JobRegistry::Seat>& seats,
                                      const std::vector<ReadyWords>& words) {
    std::vector<Answer<void>> answers(seats.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { answers[rank] = registry_.ready(seats[rank], words[rank]); });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }
  std::vector<Answer<void>> make_ready(const std::vector<JobRegistry::Seat>& seats,
                                       const std::vector<bool>& shares_memory) {
    std::vector<ReadyWords> words(seats.size());
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      words[rank].shares_memory = shares_memory[rank];
    }
    return say_ready(seats, words);
  }
  // What rank 1 of two is told when rank 0 leaves so.
  JobEnd end_when_another_leaves(const Parting& parting) {
    JobEnd told;
    std::thread other(
        [&] { EXPECT_TRUE(registry_.enter(words(1, 2), [&](const JobEnd& end) { told = end; })); });
    const auto seat = registry_.enter(words(0, 2), {});
    other.join();
    EXPECT_TRUE(seat.has_value());
    if (!seat) return told;
    make_ready({*seat, {seat->job, 1}}, {false, false});
    registry_.leave(*seat, parting);
    return told;
  }
  void leave(const std::vector<JobRegistry::Seat>& seats) {
    for (const auto& seat : seats) registry_.leave(seat, Parting::in_order);
  }

  std::vector<std::string> hosts_;  // of the ranks; empty: none shares memory
  bool has_sites_ = false;          // whether ranks bring some
  std::uint32_t element_bytes_ = 4;
  bool always_shares_ = true;
  FakePlane plane_{1, 1000, 64};
  JobRegistry registry_{&plane_, 7};
};

}  // namespace infold::control::testing
