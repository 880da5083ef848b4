// SPDX-License-Identifier: Apache-2.0
//
// Tokens in a rack: the rack's switch joins its parent with its own token, and its ranks join it
// with theirs.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/relay/rack_relay_testing.h"

namespace infold::join::testing {
namespace {

class SilentParent final : public RankLink {
 public:
  void ready(const ReadyReport&) override {}
  void leave(const Parting&) override {}
};

struct RackMember {
  Registrar::Entry entry{};
  std::shared_ptr<Ear> ear;
};

class RelayTokens : public ::testing::Test {
 protected:
  RackMember come(std::uint32_t rank, std::uint32_t world, const std::string& job,
                  const keys::Grant& grant) {
    Hello own = hello_of(rank, world, job);
    own.token = "the rank's own";
    own.grant = grant;
    RackMember member;
    member.ear = std::make_shared<Ear>();
    member.entry = relay_.enter(own, member.ear);
    relay_.work();
    return member;
  }
  void leave(const RackMember& member) {
    relay_.leave(member.entry, Parting::lost);
    listeners_.back()->dismissed();
    relay_.work();
  }
  static std::string why(const RackMember& member) {
    return member.ear->refusal() ? member.ear->refusal()->message : "not refused";
  }

  std::vector<Hello> said_;
  std::vector<std::shared_ptr<RankListener>> listeners_;
  FakePlane plane_{1, 1000};
  FakeUplink uplink_;
  RackRelay relay_{plane_,
                   uplink_,
                   {.parent = *io::SocketAddress::parse_number("10.0.0.1:7700", "test"),
                    .address = "10.1.0.1:7700",
                    .identity = "life",
                    .token = "the switch's own",
                    .on_event = [](const JoinEvent&) {},
                    .has_threads = false,
                    .link =
                        [this](const Hello& hello, std::shared_ptr<RankListener> listener) {
                          said_.push_back(hello);
                          listeners_.push_back(std::move(listener));
                          return std::make_unique<SilentParent>();
                        }}};
};

// The parent must not learn the tokens of the rack's ranks, which it could use at this switch.
TEST_F(RelayTokens, TheParentHearsTheSwitchsOwn) {
  come(0, 2, "job", {.id = 1});
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_.front().token, "the switch's own");
  EXPECT_FALSE(said_.front().grant.has_value());
}

TEST_F(RelayTokens, RanksOfAllJobsCount) {
  const keys::Grant grant = {.id = 1, .ranks_max = 5};
  const RackMember first = come(0, 3, "a", grant);
  const RackMember second = come(1, 3, "a", grant);
  EXPECT_EQ(why(come(0, 3, "b", grant)),
            "the token is for 5 ranks, jobs with it have 3, and this one has 3");
  leave(second);
  EXPECT_NE(why(come(0, 3, "b", grant)), "not refused") << "rank 0 is still here";
  relay_.leave(first.entry, Parting::lost);
  listeners_.front()->dismissed();
  relay_.work();
  EXPECT_EQ(why(come(0, 3, "b", grant)), "not refused");
}

TEST_F(RelayTokens, SlotsAreThoseThatATokenLeaves) {
  come(0, 1, "job", {.id = 1, .slots_max = 100});
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_.front().small_slots + said_.front().bulk_slots, 100U);
}

}  // namespace
}  // namespace infold::join::testing
