// SPDX-License-Identifier: Apache-2.0
//
// Events while a rack's plane starts a job. The test stands for the parent.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/relay/rack_relay_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A rank of the rack, and its link's other end.
struct RackRank {
  Registrar::Entry entry{};
  std::shared_ptr<Ear> ear;
  std::shared_ptr<RankListener> link;
};

class SilentLink final : public RankLink {
 public:
  void ready(const ReadyReport&) override {}
  void leave(const Parting&) override {}
};

class RelayStart : public ::testing::Test {
 protected:
  // All ranks of a job, up to the parent's Go and without the plane's answer to it.
  std::vector<RackRank> join(std::uint32_t world, std::uint32_t epoch = 1) {
    std::vector<RackRank> ranks(world);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ranks[rank].ear = std::make_shared<Ear>();
      ranks[rank].entry =
          relay_.enter(hello_of(rank, world, std::to_string(epoch)), ranks[rank].ear);
      relay_.work();
      ranks[rank].link = std::move(last_link_);
    }
    for (const RackRank& rank : ranks) rank.link->all_here(terms(world, epoch));
    relay_.work();
    for (const RackRank& rank : ranks) relay_.ready(rank.entry, {});
    relay_.work();
    for (const RackRank& rank : ranks) rank.link->all_ready({});
    return ranks;
  }
  // The job is all in this rack; the parent gives every job the same number.
  static JobTerms terms(std::uint32_t world, std::uint32_t epoch) {
    JobTerms terms;
    terms.job = kNumber;
    terms.epoch = epoch;
    terms.world = world;
    terms.datagram_bytes_max = 1472;
    terms.elements_max = 1056;
    terms.small_slots = 64;
    terms.bulk_slots = 448;
    terms.sites = {{":7700", 0}};
    terms.racks = {{0, static_cast<std::uint16_t>(world)}};
    return terms;
  }
  // The plane begins to start the job, then this happens, then the plane has started the job.
  void start_meanwhile(const std::function<void()>& action) {
    int starts = 0;
    plane_.while_starting([&](const JobTerms&) {
      if (starts++ == 0) action();
    });
    relay_.work();
    plane_.while_starting(nullptr);
    EXPECT_EQ(starts, 1);
  }
  void leave(const RackRank& rank) {
    relay_.leave(rank.entry, Parting::in_order);
    rank.link->dismissed();
    relay_.work();
  }
  RackRelayOptions options() {
    RackRelayOptions options;
    options.parent = *io::SocketAddress::parse_number("10.0.0.9:7700", "test");
    options.address = "10.0.0.8:7700";
    options.identity = "rack-1";
    options.on_event = [](const JoinEvent&) {};
    options.has_threads = false;
    options.link = [this](const Hello&, std::shared_ptr<RankListener> listener) {
      last_link_ = std::move(listener);
      return std::make_unique<SilentLink>();
    };
    return options;
  }

  static constexpr std::uint16_t kNumber = 5;
  FakePlane plane_{1};
  FakeUplink uplink_;
  std::shared_ptr<RankListener> last_link_;
  RackRelay relay_{plane_, uplink_, options()};
};

TEST_F(RelayStart, RanksThatGoLeaveNothing) {
  const auto ranks = join(2);
  start_meanwhile([&] {
    for (const RackRank& rank : ranks) leave(rank);
  });
  EXPECT_THAT(plane_.forgotten(), ElementsAre(kNumber));
  EXPECT_THAT(relay_.status(), IsEmpty());
  for (const RackRank& rank : ranks) EXPECT_TRUE(rank.ear->was_dismissed());
}

TEST_F(RelayStart, AJobThatEndsBeforeItsTurnIsNotStarted) {
  for (const RackRank& rank : join(2)) {
    relay_.leave(rank.entry, Parting::in_order);
    rank.link->dismissed();
  }
  relay_.work();
  EXPECT_THAT(plane_.started(), IsEmpty());
  EXPECT_THAT(relay_.status(), IsEmpty());
}

TEST_F(RelayStart, StoppingRefusesTheRanksAndForgetsTheJob) {
  const auto ranks = join(2);
  start_meanwhile([&] { relay_.stop(); });
  for (const RackRank& rank : ranks) {
    ASSERT_TRUE(rank.ear->refusal().has_value());
    EXPECT_EQ(rank.ear->refusal()->message, "the switch is stopping");
  }
  EXPECT_THAT(plane_.forgotten(), ElementsAre(kNumber));
}

// Each link says the end by itself. A rank whose link has not said it yet sends packets meanwhile.
TEST_F(RelayStart, AnEndIsToldToThePlaneOnceTheJobHasStarted) {
  const auto ranks = join(2);
  start_meanwhile([&] { ranks[0].link->ended({1U, {}, {}}); });
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::lost);
  EXPECT_TRUE(ranks[0].ear->refusal().has_value());
  EXPECT_TRUE(ranks[1].ear->groups().has_value());
  ranks[1].link->ended({1U, {}, {}});
  relay_.work();
  EXPECT_TRUE(ranks[1].ear->end().has_value());
  EXPECT_EQ(plane_.ends().size(), 1U);
}

// The parent came back with a job of the same number before the old one's links had all ended.
TEST_F(RelayStart, AnEarlierJobOfTheNumberDoesNotEndTheNextOne) {
  const auto old = join(1, 1);
  relay_.work();
  ASSERT_EQ(plane_.started().size(), 1U);
  const auto next = join(1, 2);
  old[0].link->ended({});
  relay_.work();
  EXPECT_TRUE(old[0].ear->end().has_value());
  EXPECT_TRUE(next[0].ear->groups().has_value());
  EXPECT_THAT(plane_.forgotten(), ElementsAre(kNumber)) << "the old one";
  EXPECT_THAT(plane_.ends(), IsEmpty()) << "it would be the next one's";
}

TEST_F(Relay, ASlowStartHoldsUpNoOtherJob) {
  start();
  std::promise<void> may_start;
  std::atomic<bool> starts = false;
  a_->plane.while_starting([&, gate = may_start.get_future().share()](const JobTerms&) {
    starts = true;
    gate.wait();
  });
  std::thread slow([&] { join({a_->address(), a_->address()}); });
  while (!starts) std::this_thread::yield();
  const auto other = JobLink::join(a_->address(), hello_of(0, 1, "other"), {});
  EXPECT_TRUE(other.has_value()) << other.error().message;
  may_start.set_value();
  slow.join();
  EXPECT_TRUE(all_joined());
}

}  // namespace
}  // namespace infold::join::testing
