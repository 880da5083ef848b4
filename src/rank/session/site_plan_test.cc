// SPDX-License-Identifier: Apache-2.0
#include "rank/session/site_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::rank {
namespace {

using ::testing::HasSubstr;

// Two control planes' answers to rank 0 of 4.
class SitePlans : public ::testing::Test {
 protected:
  SitePlans() {
    options_.sites = Sites::switches;
    for (control::JobTerms* const terms : {&first_, &second_}) {
      terms->job = 5;
      terms->world = 4;
      terms->datagram_bytes_max = 1472;
      terms->elements_max = 8192;
      terms->small_slots = 64;
      terms->bulk_slots = 448;
      terms->sites = {{":7700", 0}};
    }
    second_.sites.front().address = "10.0.0.2:7701";
  }
  Result<SitePlan> plan() { return plan_sites(input_, hosts_); }

  JoinOptions options_;
  control::JobTerms first_, second_;
  SitePlanInput input_ = {options_, {1472, 8192, false, false}, 64, 448, {}};
  const io::SocketAddress host_ = *io::SocketAddress::parse_number("10.0.0.1:7000", "test");
  std::vector<HostTerms> hosts_ = {{&first_, host_}, {&second_, host_}};
};

TEST_F(SitePlans, SitesComeInTheirHostsOrderAndLimitsAreTheLeast) {
  second_.elements_max = 1024;
  const auto found = plan();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->addresses[0].text(), "10.0.0.1:7700") << "at the host itself";
  EXPECT_EQ(found->addresses[1].text(), "10.0.0.2:7701");
  EXPECT_EQ(found->limits.elements_max, 1024U);
  EXPECT_EQ(found->first_sites, (std::vector<std::uint8_t>{0, 1}));
}

// All calls would be refused that leave the format open.
TEST_F(SitePlans, AFormatThatASiteLacksIsRefusedByName) {
  options_.job = "job";
  second_.sites.front().record.formats =
      core::FormatSet::all() - core::FormatSet::of(core::WireFormat::bfp8);
  second_.formats = second_.sites.front().record.formats;
  ASSERT_TRUE(plan().has_value());
  EXPECT_EQ(plan()->formats, second_.formats);
  options_.wire = WireFormat::bfp8;
  ASSERT_FALSE(plan().has_value());
  EXPECT_EQ(plan().error().code, Code::unsupported);
  EXPECT_THAT(plan().error().message,
              HasSubstr("the site at 10.0.0.2:7701 does not sum bfp8, which the job asks for"));
}

// As they are summed in racks or at a parent, whose records ranks elsewhere do not hear.
TEST_F(SitePlans, AFormatThatIsLackingElsewhereIsRefused) {
  options_.wire = WireFormat::fixed32;
  first_.formats = core::FormatSet::all() - core::FormatSet::of(core::WireFormat::i16);
  EXPECT_THAT(plan().error().message,
              HasSubstr("a switch between this rank and the others does not sum i16"));
}

TEST_F(SitePlans, SwitchesWithoutAFormatInCommonAreRefused) {
  first_.formats = core::FormatSet::of(core::WireFormat::i32);
  second_.formats = core::FormatSet::of(core::WireFormat::bfp32);
  EXPECT_THAT(plan().error().message, HasSubstr("the switches sum no wire format in common"));
}

TEST_F(SitePlans, ZerosAreLeftOutWhereASiteTakesThat) {
  second_.sites.front().record.takes_sparse = false;
  EXPECT_TRUE(plan()->sites[0].takes_sparse);
  EXPECT_FALSE(plan()->sites[1].takes_sparse);
}

// Each alone is a job; a worker with slots of neither kind was a CHECK.
TEST_F(SitePlans, SlotsOfNoKindInCommonAreRefused) {
  first_.bulk_slots = 0;
  second_.small_slots = 0;
  const auto found = plan();
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("grant no slots in common"));
}

TEST_F(SitePlans, MoreSitesThanAJobHasAreRefused) {
  first_.sites.resize(40, first_.sites.front());
  second_.sites.resize(25, second_.sites.front());
  EXPECT_THAT(plan().error().message, HasSubstr("have 65 sites together; a job has 1 to 64"));
}

// A rank serves its own site itself; at another host's it is a stranger's address.
TEST_F(SitePlans, ARanksOwnSiteIsOneOfItsFirstHost) {
  input_.own_site = *io::SocketAddress::parse_number("10.0.0.9:9", "test");
  second_.sites.push_back({"10.0.0.9:9", 1, true});
  EXPECT_THAT(plan().error().message,
              HasSubstr("lacks the site that this rank brings, 10.0.0.9:9"));
  first_.sites.push_back({"10.0.0.9:9", 1, true});
  const auto found = plan();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->own, 1);
}

TEST_F(SitePlans, RanksAreCountedByRackAndGroup) {
  first_.groups = second_.groups = {{{0, 2}, "m"}};
  second_.racks = {{0, 3}};
  const auto found = plan();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(party_at(hosts_, *found, 0, 3), 2) << "behind a group and a rank";
  EXPECT_EQ(party_at(hosts_, *found, 1, 2), 1) << "in the rack";
  core::WorkerOptions worker;
  worker.rank = 1;
  worker.world = 4;
  worker.sites = found->sites;
  place_at_sites(hosts_, *found, worker);
  EXPECT_EQ(worker.sites[0].worker, 1) << "at its leader";
  EXPECT_TRUE(worker.limits.tree);
}

}  // namespace
}  // namespace infold::rank
