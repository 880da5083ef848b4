// SPDX-License-Identifier: Apache-2.0
//
// For tests of the registry: ranks that join without threads, while the test sets the time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "join/registry/job_registry.h"
#include "join/registry/testing.h"

namespace infold::join::testing {

struct Rank {
  Registrar::Entry entry{};
  std::shared_ptr<Ear> ear;
};

class Registry : public ::testing::Test {
 protected:
  Rank come(JobRegistry& registry, const Hello& hello) {
    Rank rank;
    rank.ear = std::make_shared<Ear>();
    rank.entry = registry.enter(hello, rank.ear);
    registry.work();
    return rank;
  }
  Rank come(const Hello& hello) { return come(registry_, hello); }

  // Makes all ranks of a job join.
  std::vector<Rank> fill(std::uint32_t world, const std::string& job = "job") {
    std::vector<Rank> ranks;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      Hello own = hello_of(rank, world, job);
      if (!hosts_.empty()) own.host = RankHost{hosts_[rank], "meet-" + std::to_string(rank)};
      own.element_bytes = element_bytes_;
      own.always_shares = always_shares_;
      if (has_sites_) own.site = SiteAddress{"10.0.0.1:1", 1};
      ranks.push_back(come(own));
    }
    for (const Rank& each : ranks) {
      EXPECT_TRUE(each.ear->terms().has_value());
      EXPECT_FALSE(each.ear->refusal().has_value());
    }
    return ranks;
  }
  void say_ready(const std::vector<Rank>& ranks, const std::vector<ReadyReport>& reports) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      registry_.ready(ranks[rank].entry, reports[rank]);
    }
    registry_.work();
  }
  void make_ready(const std::vector<Rank>& ranks, const std::vector<bool>& shares_memory = {}) {
    std::vector<ReadyReport> reports(ranks.size());
    for (std::size_t rank = 0; rank < shares_memory.size(); ++rank) {
      reports[rank].shares_memory = shares_memory[rank];
    }
    say_ready(ranks, reports);
  }
  std::vector<Rank> run(std::uint32_t world, const std::string& job = "job") {
    const std::vector<Rank> ranks = fill(world, job);
    make_ready(ranks);
    for (const Rank& each : ranks) EXPECT_TRUE(each.ear->groups().has_value());
    return ranks;
  }
  void leave(const Rank& rank, const Parting& parting = Parting::in_order) {
    registry_.leave(rank.entry, parting);
    registry_.work();
  }
  void leave(const std::vector<Rank>& ranks) {
    for (const Rank& each : ranks) leave(each);
  }
  void pass(base::Duration time) {
    now_ = now_ + time;
    registry_.work();
  }
  RegistryOptions options() {
    RegistryOptions options;
    options.clock = [this] { return now_; };
    options.entropy = [this] { return ++entropy_; };
    options.on_event = [this](const JoinEvent& event) { events_.push_back(event); };
    options.has_threads = false;
    return options;
  }

  std::vector<std::string> hosts_;  // the hosts of the ranks; empty: no rank shares memory
  bool has_sites_ = false;          // whether ranks bring sites
  std::uint32_t element_bytes_ = 4;
  bool always_shares_ = true;
  base::Instant now_{1};
  std::uint64_t entropy_ = 0;
  std::vector<JoinEvent> events_;
  FakePlane plane_{1, 1000, 64};
  JobRegistry registry_{&plane_, options()};
};

inline void expect_refused(const Rank& rank, RefusalReason reason, const std::string& text) {
  ASSERT_TRUE(rank.ear->refusal().has_value()) << text;
  EXPECT_EQ(rank.ear->refusal()->reason, reason);
  EXPECT_NE(rank.ear->refusal()->message.find(text), std::string::npos)
      << rank.ear->refusal()->message;
}

}  // namespace infold::join::testing
