// SPDX-License-Identifier: Apache-2.0
//
// A parent's registry, the relays of two racks over real connections to it, and ranks at those.

#include "control/rack_relay.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/control_server.h"
#include "control/job_registry.h"
#include "control/parties.h"

namespace infold::control {
namespace {

using core::RankRange;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FakePlane final : public Plane {
 public:
  explicit FakePlane(std::size_t sites) {
    for (std::size_t site = 0; site < sites; ++site) {
      sites_.push_back({":" + std::to_string(7700 + site), 0});
    }
  }
  std::vector<SiteAddress> sites() const override { return sites_; }
  std::uint32_t slots_total() const override { return slots; }
  std::uint32_t datagram_bytes_max() const override { return datagram_bytes; }
  std::uint32_t elements_max() const override { return elements; }
  Answer<void> start_job(const JobTerms& terms) override {
    const std::lock_guard lock(mutex_);
    started_.push_back(terms);
    return {};
  }
  void end_job(std::uint16_t, const core::Abort& abort) override {
    const std::lock_guard lock(mutex_);
    ends_.push_back(abort);
  }
  void forget_job(std::uint16_t job) override {
    const std::lock_guard lock(mutex_);
    forgotten_.push_back(job);
  }

  // Servers' threads read these whenever somebody comes.
  std::atomic<std::uint32_t> slots = 4096;
  std::atomic<std::uint32_t> datagram_bytes = 8972;
  std::atomic<std::uint32_t> elements = 8192;

  std::vector<JobTerms> started() const { return look_at(started_); }
  std::vector<core::Abort> ends() const { return look_at(ends_); }
  std::vector<std::uint16_t> forgotten() const { return look_at(forgotten_); }

 private:
  template <typename T>
  std::vector<T> look_at(const std::vector<T>& list) const {
    const std::lock_guard lock(mutex_);
    return list;
  }

  mutable std::mutex mutex_;
  std::vector<JobTerms> started_;
  std::vector<core::Abort> ends_;
  std::vector<std::uint16_t> forgotten_;
  std::vector<SiteAddress> sites_;
};

class FakeUplink final : public Uplink {
 public:
  Answer<std::uint32_t> datagram_bytes_max() const override { return bytes; }
  Answer<void> reach(const std::vector<std::string>& sites, std::uint32_t) override {
    const std::lock_guard lock(mutex_);
    reached_ = sites;
    if (refusal_) return tl::unexpected(*refusal_);
    return {};
  }

  std::atomic<std::uint32_t> bytes = 8972;
  void refuse(const Refusal& refusal) {
    const std::lock_guard lock(mutex_);
    refusal_ = refusal;
  }
  std::vector<std::string> reached() const {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Refusal> refusal_;
  std::vector<std::string> reached_;
};

const io::SocketAddress kAnyPort = *io::SocketAddress::parse("127.0.0.1:0", "test");

struct Root {
  explicit Root(std::size_t sites, std::uint64_t seed = 7, const io::SocketAddress& at = kAnyPort)
      : plane(sites),
        registry(&plane, seed),
        server(std::move(*ControlServer::start(at, registry))) {}
  std::string address() const { return server->address().text(); }

  FakePlane plane;
  JobRegistry registry;
  std::unique_ptr<ControlServer> server;
};

struct Leaf {
  Leaf(const std::string& parent, const std::string& name, std::size_t sites)
      : plane(sites),
        relay(plane, uplink, {parent, name, "life of " + name}),
        server(std::move(*ControlServer::start(kAnyPort, relay))) {}
  std::string address() const { return server->address().text(); }

  FakePlane plane;
  FakeUplink uplink;
  RackRelay relay;
  std::unique_ptr<ControlServer> server;
};

// One rank's link and what it heard.
struct Member {
  std::unique_ptr<JobLink> link;
  std::optional<Refusal> refusal;
  std::atomic<bool> told{false};
  JobEnd end;
};

class Relay : public testing::Test {
 protected:
  void start(std::size_t root_sites = 2, std::size_t a_sites = 2, std::size_t b_sites = 2) {
    root_ = std::make_unique<Root>(root_sites);
    a_ = std::make_unique<Leaf>(root_->address(), "rack-a:1", a_sites);
    b_ = std::make_unique<Leaf>(root_->address(), "rack-b:1", b_sites);
  }

  static RankWords words(std::size_t rank, std::size_t world) {
    RankWords words;
    words.job = "job";
    words.rank = static_cast<std::uint32_t>(rank);
    words.world = static_cast<std::uint32_t>(world);
    words.datagram_bytes_max = 1472;
    words.small_slots = 64;
    words.bulk_slots = 448;
    words.patience = std::chrono::seconds(20);
    return words;
  }

  // Ranks 0, 1, ... at these addresses, each from a thread of its own, up to and with ready().
  void join(const std::vector<std::string>& places,
            const std::function<void(RankWords&)>& change = {}) {
    members_.clear();
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      members_.push_back(std::make_unique<Member>());
    }
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      threads.emplace_back([&, rank] { enter(*members_[rank], places, rank, change); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void enter(Member& member, const std::vector<std::string>& places, std::size_t rank,
                    const std::function<void(RankWords&)>& change) {
    RankWords own = words(rank, places.size());
    if (change) change(own);
    auto link = JobLink::join(places[rank], own, {});
    if (!link) {
      member.refusal = link.error();
      return;
    }
    const ReadyWords ready = {own.host.has_value(), 7, {}, 0, 0, {}};
    if (const Answer<void> answer = (*link)->ready(ready); !answer) {
      member.refusal = answer.error();
      return;
    }
    member.link = std::move(*link);
    member.link->watch([&member](const JobEnd& end) {
      member.end = end;
      member.told = true;
    });
  }
  void expect_refused(RefusalReason reason, const std::string& text) {
    for (const auto& member : members_) {
      ASSERT_TRUE(member->refusal.has_value());
      EXPECT_EQ(member->refusal->reason, reason) << member->refusal->message;
      EXPECT_THAT(member->refusal->message, HasSubstr(text));
    }
  }
  bool all_joined() {
    for (const auto& member : members_) {
      EXPECT_FALSE(member->refusal.has_value()) << member->refusal->message;
      if (member->refusal) return false;
    }
    return true;
  }
  static void wait_for(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_TRUE(condition());
  }
  std::vector<std::string> two_and_two() const {
    return {a_->address(), a_->address(), b_->address(), b_->address()};
  }

  std::unique_ptr<Root> root_;
  std::unique_ptr<Leaf> a_, b_;
  std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(Relay, RacksAreOnePartyEachAndHaveSitesOfTheirOwn) {
  start();
  std::vector<std::string> places = two_and_two();
  places.push_back(root_->address());
  join(places);
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(root_->plane.started().size(), 1U);
  const JobTerms above = root_->plane.started()[0];
  EXPECT_THAT(above.racks, ElementsAre(RankRange{0, 2}, RankRange{2, 2}));
  EXPECT_THAT(parties_of(above.groups, above.racks, 5),
              ElementsAre(RankRange{0, 2}, RankRange{2, 2}, RankRange{4, 1}));
  ASSERT_EQ(b_->plane.started().size(), 1U);
  const JobTerms below = b_->plane.started()[0];
  EXPECT_EQ(below.job, above.job);
  EXPECT_EQ(below.epoch, above.epoch);
  ASSERT_TRUE(below.below.has_value());
  EXPECT_EQ(below.below->rack, (RankRange{2, 2}));
  EXPECT_THAT(below.below->sites, ElementsAre("127.0.0.1:7700", "127.0.0.1:7701"));
  EXPECT_EQ(b_->uplink.reached(), below.below->sites);
  EXPECT_EQ(members_[3]->link->terms().parent, root_->address());
  EXPECT_EQ(members_[4]->link->terms().parent, "");
  EXPECT_EQ(members_[4]->link->terms().racks, above.racks);
  for (const auto& member : members_) member->link->leave();
  EXPECT_THAT(root_->registry.status(), IsEmpty());
  EXPECT_THAT(a_->relay.status(), IsEmpty());
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(above.job));
  for (const auto& member : members_) EXPECT_FALSE(member->told);
}

TEST_F(Relay, AJobInOneRackIsSummedThereAndTakesNothingAbove) {
  start(1, 3);
  join({a_->address(), a_->address()});
  ASSERT_TRUE(all_joined());
  EXPECT_THAT(root_->plane.started(), IsEmpty());
  EXPECT_EQ(root_->registry.slots_free(), 4096U);
  ASSERT_EQ(a_->plane.started().size(), 1U);
  EXPECT_FALSE(a_->plane.started()[0].below.has_value());
  EXPECT_THAT(a_->plane.started()[0].racks, IsEmpty());
  EXPECT_EQ(members_[1]->link->terms().sites.size(), 3U) << "all of the rack's";
  EXPECT_EQ(members_[1]->link->terms().parent, "");
  EXPECT_EQ(a_->relay.status()[0].slots, 512U);
}

TEST_F(Relay, TheLeastOfAllSwitchesDecides) {
  start(4, 3, 2);
  a_->plane.elements = 1000;
  b_->plane.datagram_bytes = 1400;
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  for (const auto& member : members_) {
    const JobTerms& terms = member->link->terms();
    EXPECT_EQ(terms.sites.size(), 2U);
    EXPECT_EQ(terms.elements_max, 1000U);
    EXPECT_EQ(terms.datagram_bytes_max, 1400U);
  }
  a_->uplink.bytes = 1300;
  for (const auto& member : members_) member->link->leave();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  EXPECT_EQ(members_[3]->link->terms().datagram_bytes_max, 1300U);
}

// Of 600 slots the first job takes 512, and the second what is left for it: 32 of 88.
TEST_F(Relay, LaterJobsGetWhatARackHasLeft) {
  start();
  a_->plane.slots = 600;
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const auto first = std::move(members_);
  join(two_and_two(), [](RankWords& words) { words.job = "second"; });
  ASSERT_TRUE(all_joined());
  const JobTerms& terms = members_[2]->link->terms();
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 32);
  const auto second = std::move(members_);
  join(two_and_two(), [](RankWords& words) { words.job = "third"; });
  ASSERT_TRUE(all_joined());
  const auto third = std::move(members_);
  join(two_and_two(), [](RankWords& words) { words.job = "fourth"; });
  expect_refused(RefusalReason::full,
                 "the switch at rack-a:1 has 24 of 600 slots left and job 'fourth' wants 32");
  EXPECT_EQ(b_->plane.started().size(), 3U);
}

TEST_F(Relay, RacksThatInterleaveAreRefusedToAll) {
  start();
  join({a_->address(), b_->address(), a_->address()});
  expect_refused(RefusalReason::invalid,
                 "ranks 0 and 2 join at rack-a:1, rank 1 between them does not; number the ranks "
                 "rack by rack");
  EXPECT_THAT(a_->relay.status(), IsEmpty());
}

TEST_F(Relay, WhatARackCannotDoIsToldToAll) {
  start();
  b_->uplink.refuse({RefusalReason::too_late, "nothing comes back", -1});
  join(two_and_two());
  expect_refused(RefusalReason::too_late, "nothing comes back");
  EXPECT_THAT(root_->plane.started(), IsEmpty());
  members_.clear();
  wait_for([&] { return a_->relay.status().empty() && b_->relay.status().empty(); });
}

TEST_F(Relay, WhatEndedARanksCallsIsToldInEveryRack) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  core::Abort abort = {core::AbortReason::mismatch, 3, 1, {}, {}};
  abort.rank_words.shape = 1000;
  members_[3]->link->leave(abort);
  for (const int rank : {0, 1, 2}) {
    const Member& member = *members_[static_cast<std::size_t>(rank)];
    wait_for([&] { return member.told.load(); });
    ASSERT_TRUE(member.end.abort.has_value());
    EXPECT_EQ(member.end.abort->reason, core::AbortReason::mismatch);
    EXPECT_EQ(member.end.abort->rank, 3);
    EXPECT_EQ(member.end.abort->rank_words.shape, 1000U);
    EXPECT_EQ(member.end.lost_switch, "");
  }
  wait_for([&] { return a_->plane.ends().size() == 1; });
  EXPECT_EQ(a_->plane.ends()[0].other, 1);
}

TEST_F(Relay, ALostRankIsNamedInEveryRack) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  members_[3]->link->cut();
  members_[3]->link.reset();
  for (const int rank : {0, 1, 2}) {
    wait_for([&] { return members_[static_cast<std::size_t>(rank)]->told.load(); });
    EXPECT_EQ(members_[static_cast<std::size_t>(rank)]->end.lost_rank, 3U);
  }
  wait_for([&] { return !a_->plane.ends().empty(); });
  EXPECT_EQ(a_->plane.ends()[0].reason, core::AbortReason::lost);
  EXPECT_EQ(a_->plane.ends()[0].other, 3);
}

TEST_F(Relay, ARacksSwitchThatGoesIsNamedEverywhere) {
  start();
  std::vector<std::string> places = two_and_two();
  places.push_back(root_->address());
  join(places);
  ASSERT_TRUE(all_joined());
  b_.reset();
  for (const std::size_t rank : {0U, 1U, 4U}) {
    wait_for([&] { return members_[rank]->told.load(); });
    EXPECT_FALSE(members_[rank]->end.lost_rank.has_value());
    EXPECT_EQ(members_[rank]->end.lost_switch, "rack-b:1");
  }
  wait_for([&] { return members_[2]->told.load(); });
  EXPECT_EQ(members_[2]->end.lost_switch, "") << "its own";
  ASSERT_EQ(root_->plane.ends().size(), 1U);
  EXPECT_EQ(root_->plane.ends()[0].reason, core::AbortReason::stopped);
}

TEST_F(Relay, AParentThatGoesIsNamed) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const std::string parent = root_->address();
  root_.reset();
  for (const auto& member : members_) {
    wait_for([&] { return member->told.load(); });
    EXPECT_FALSE(member->end.lost_rank.has_value());
    EXPECT_EQ(member->end.lost_switch, parent);
  }
}

// Which counts jobs from one again, while a rank of the old one has not left.
TEST_F(Relay, AParentThatComesBackMayUseNumbersAgain) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const io::SocketAddress address = root_->server->address();
  root_.reset();
  const auto old = std::move(members_);
  for (const auto& member : old) wait_for([&] { return member->told.load(); });
  root_ = std::make_unique<Root>(2, 8, address);
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(a_->plane.started().size(), 2U);
  EXPECT_EQ(a_->plane.started()[0].job, a_->plane.started()[1].job);
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(1)) << "before the new one began";
  for (const auto& member : old) member->link->leave();
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(1)) << "the new one is still there";
  EXPECT_EQ(a_->relay.status().size(), 1U);
}

TEST_F(Relay, AParentThatIsNotThereIsNamed) {
  start();
  const std::string parent = root_->address();
  root_.reset();
  join({a_->address()}, [](RankWords& words) { words.patience = milliseconds(300); });
  expect_refused(RefusalReason::too_late, "nobody answers at the switch's parent " + parent);
}

TEST_F(Relay, AParentMustBeARoot) {
  start();
  Leaf below(a_->address(), "rack-c:1", 1);
  join({below.address()});
  expect_refused(RefusalReason::invalid, "the switch at rack-a:1 has a parent itself, " +
                                             root_->address() + "; a rack's parent must have none");
}

TEST_F(Relay, ARankThatSumsIsNoParent) {
  JobRegistry registry(nullptr, 1);
  const auto server = ControlServer::start(kAnyPort, registry);
  Leaf leaf((*server)->address().text(), "rack-c:1", 1);
  join({leaf.address()}, [](RankWords& words) { words.site = SiteAddress{"10.0.0.1:1", 1, true}; });
  expect_refused(RefusalReason::invalid, "--parent names a rank that sums");
}

TEST_F(Relay, HostGroupsStayWithinTheirRack) {
  start();
  join(two_and_two(), [](RankWords& words) {
    words.host = RankHost{words.rank == 0 ? "x" : "y", "meet-" + std::to_string(words.rank)};
    words.always_shares = true;
  });
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(b_->plane.started().size(), 1U);
  EXPECT_THAT(b_->plane.started()[0].groups, ElementsAre(HostGroup{{2, 2}, "meet-2"}));
}

TEST_F(Relay, OneHostTakesNothingOfItsRack) {
  start();
  join({a_->address(), a_->address()}, [](RankWords& words) {
    words.host = RankHost{"x", "meet"};
    words.always_shares = true;
  });
  ASSERT_TRUE(all_joined());
  EXPECT_THAT(a_->plane.started(), IsEmpty());
  EXPECT_EQ(a_->relay.status()[0].slots, 0U);
}

TEST_F(Relay, StoppingEndsWhatWaitsForOthers) {
  start();
  std::thread stopper([&] {
    wait_for([&] { return !root_->registry.status().empty(); });
    a_->relay.stop();
  });
  join({a_->address(), b_->address()}, [](RankWords& words) {
    if (words.rank == 1) {
      words.job = "other";
      words.world = 1;
      words.rank = 0;
    }
  });
  stopper.join();
  ASSERT_TRUE(members_[0]->refusal.has_value());
  EXPECT_THAT(members_[0]->refusal->message, HasSubstr("the switch is stopping"));
}

// Connections to the parent break while ranks leave: whoever watches one needs the relay's lock.
TEST_F(Relay, StoppingWhileRanksGoComesToAnEnd) {
  for (int life = 0; life < 50; ++life) {
    start();
    join({a_->address(), a_->address(), a_->address(), a_->address()});
    ASSERT_TRUE(all_joined());
    std::thread stopper([&] { a_.reset(); });
    for (const auto& member : members_) {
      wait_for([&] { return member->told.load(); });
      member->link->cut();
    }
    stopper.join();
  }
}

TEST(Parties, CountRacksOnceAndHostsInThem) {
  const std::vector<HostGroup> groups = {{{0, 2}, "x"}, {{5, 2}, "y"}};
  const std::vector<RankRange> racks = {{0, 3}, {3, 1}};
  const auto root = parties_of(groups, racks, 8);
  EXPECT_THAT(root, ElementsAre(RankRange{0, 3}, RankRange{3, 1}, RankRange{4, 1}, RankRange{5, 2},
                                RankRange{7, 1}));
  EXPECT_EQ(party_of(root, 2), 0);
  EXPECT_EQ(party_of(root, 6), 3);
  EXPECT_THAT(parties_of(groups, racks[0]), ElementsAre(RankRange{0, 2}, RankRange{2, 1}));
  EXPECT_EQ(rack_of(racks, 4), nullptr);
  EXPECT_FALSE(is_one_rack(racks, 4));
}

}  // namespace
}  // namespace infold::control
