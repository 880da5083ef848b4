// SPDX-License-Identifier: Apache-2.0
#include "rank/session/site_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::rank {
namespace {

using ::testing::HasSubstr;

// The answers of two join servers to rank 1 of 4.
class SiteTables : public ::testing::Test {
 protected:
  SiteTables() {
    options_.sites = Sites::switches;
    options_.rank = 1;
    options_.world = 4;
    for (join::JobTerms* const terms : {&first_, &second_}) {
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
  Result<SiteTable> table() { return find_sites(input_, hosts_); }

  JoinOptions options_;
  join::JobTerms first_, second_;
  SiteTableInput input_ = {options_, 1472, 64, 448, {}};
  const io::SocketAddress host_ = *io::SocketAddress::parse_number("10.0.0.1:7000", "test");
  std::vector<HostTerms> hosts_ = {{&first_, host_}, {&second_, host_}};
};

TEST_F(SiteTables, SitesComeInTheirHostsOrderAndLimitsAreTheLeast) {
  second_.elements_max = 1024;
  const auto found = table();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->addresses[0].text(), "10.0.0.1:7700") << "at the host itself";
  EXPECT_EQ(found->addresses[1].text(), "10.0.0.2:7701");
  EXPECT_EQ(found->plan.elements_max, 1024U);
  EXPECT_EQ(found->first_sites, (std::vector<std::uint8_t>{0, 1}));
}

// Without this format, every call that leaves the format open would be refused.
TEST_F(SiteTables, AFormatThatASiteLacksIsRefusedByName) {
  options_.job = "job";
  second_.sites.front().record.formats =
      core::FormatSet::all() - core::FormatSet::of(core::WireFormat::bfp8);
  second_.formats = second_.sites.front().record.formats;
  ASSERT_TRUE(table().has_value());
  EXPECT_EQ(table()->plan.formats, second_.formats);
  options_.wire = WireFormat::bfp8;
  ASSERT_FALSE(table().has_value());
  EXPECT_EQ(table().error().code, Code::unsupported);
  EXPECT_THAT(table().error().message,
              HasSubstr("the site at 10.0.0.2:7701 does not sum bfp8, which the job asks for"));
}

// Racks and parents sum as well, and ranks elsewhere do not get their records.
TEST_F(SiteTables, AFormatThatIsLackingElsewhereIsRefused) {
  options_.wire = WireFormat::fixed32;
  first_.formats = core::FormatSet::all() - core::FormatSet::of(core::WireFormat::i32);
  EXPECT_THAT(table().error().message,
              HasSubstr("a switch between this rank and the others does not sum i32"));
}

// Exponents also travel in i32.
TEST_F(SiteTables, NarrowIntegersAreNotNeededForExponents) {
  options_.wire = WireFormat::fixed32;
  first_.formats = core::FormatSet::all() - core::FormatSet::of(core::WireFormat::i16);
  EXPECT_TRUE(table().has_value());
}

// One switch sums native in all jobs; the other sums some native types, in jobs without trees.
TEST_F(SiteTables, NativeTypesAreThoseOfAllSitesAndOfNoTree) {
  options_.wire = WireFormat::native;
  const core::FormatSet others =
      core::FormatSet::all() - core::FormatSet::of(core::WireFormat::native);
  const core::FloatTypes types =
      core::FloatTypes::of(DataType::f32) | core::FloatTypes::of(DataType::f16);
  second_.formats = second_.sites.front().record.formats = others;
  second_.native_types = second_.sites.front().record.native_types = types;
  const auto found = table();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->plan.native_types, types);
  const core::WorkerOptions worker = plan::worker_options(found->plan, 1);
  EXPECT_TRUE(worker.sums({core::WireFormat::native, DataType::f16}));
  EXPECT_FALSE(worker.sums({core::WireFormat::native, DataType::bf16}));
  first_.racks = {{0, 3}};
  const auto tree = table();
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  EXPECT_FALSE(plan::worker_options(tree->plan, 1).sums({core::WireFormat::native, DataType::f16}));
  second_.native_types = {};
  EXPECT_THAT(table().error().message, HasSubstr("not all sites sum native in every job"));
}

TEST_F(SiteTables, SwitchesWithoutAFormatInCommonAreRefused) {
  first_.formats = core::FormatSet::of(core::WireFormat::i32);
  second_.formats = core::FormatSet::of(core::WireFormat::bfp32);
  EXPECT_THAT(table().error().message, HasSubstr("the switches sum no wire format in common"));
}

TEST_F(SiteTables, ZerosAreLeftOutWhereASiteTakesThat) {
  second_.sites.front().record.takes_sparse = false;
  EXPECT_TRUE(table()->plan.trees[0].aggregators[0].takes_sparse);
  EXPECT_FALSE(table()->plan.trees[1].aggregators[0].takes_sparse);
}

// Each answer alone makes a valid job, but together they leave no slots of either kind.
TEST_F(SiteTables, SlotsOfNoKindInCommonAreRefused) {
  first_.bulk_slots = 0;
  second_.small_slots = 0;
  const auto found = table();
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("grant no slots in common"));
}

TEST_F(SiteTables, MoreSitesThanAJobHasAreRefused) {
  first_.sites.resize(40, first_.sites.front());
  second_.sites.resize(25, second_.sites.front());
  EXPECT_THAT(table().error().message, HasSubstr("have 65 sites together; a job has 1 to 64"));
}

// A rank serves its own site itself. At another host, the same address is a stranger's.
TEST_F(SiteTables, ARanksOwnSiteIsOneOfItsFirstHost) {
  input_.own_site = *io::SocketAddress::parse_number("10.0.0.9:9", "test");
  second_.sites.push_back({"10.0.0.9:9", 1, true});
  EXPECT_THAT(table().error().message,
              HasSubstr("lacks the site that this rank brings, 10.0.0.9:9"));
  first_.sites.push_back({"10.0.0.9:9", 1, true});
  const auto found = table();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->own, 1);
}

TEST_F(SiteTables, RanksAreCountedByRackAndGroup) {
  first_.groups = second_.groups = {{{0, 2}, "m"}};
  second_.racks = {{0, 3}};
  const auto found = table();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(plan::position_of(found->plan.trees[0], 3), (plan::Position{0, 2})) << "after a host";
  EXPECT_EQ(plan::position_of(found->plan.trees[1], 2), (plan::Position{1, 1})) << "in the rack";
  const core::WorkerOptions worker = plan::worker_options(found->plan, 1);
  EXPECT_EQ(worker.sites[0].worker, 1) << "at its leader";
  EXPECT_TRUE(worker.limits.tree);
}

}  // namespace
}  // namespace infold::rank
