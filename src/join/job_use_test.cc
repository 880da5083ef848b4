// SPDX-License-Identifier: Apache-2.0
//
// Each rule by which the records of sites decide a job's formats (spec/joining.md, J-015).
#include "join/job_use.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::join::testing {
namespace {

using core::FormatSet;
using core::WireFormat;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Three sites that can everything, for four ranks.
std::vector<SiteOfJob> three_sites() {
  return {{"the site at :7700", {}, 4}, {"the site at :7701", {}, 4}, {"rank 2's site", {}, 4}};
}

std::string refusal_of_job(const std::vector<SiteOfJob>& sites, FormatSet asked = {}) {
  const Answer<JobUse> use = job_use("job", sites, asked);
  if (use) return "no refusal";
  EXPECT_EQ(use.error().reason, RefusalReason::invalid);
  return use.error().message;
}

TEST(JobUse, IsAllThatTheProtocolHasWhereEverySiteCanEverything) {
  const Answer<JobUse> use = job_use("job", three_sites(), FormatSet::all());
  ASSERT_TRUE(use.has_value()) << use.error().message;
  EXPECT_EQ(use->formats, FormatSet::all());
  EXPECT_EQ(use->elements_max, 8192U);
}

TEST(JobUse, ElementsAreTheLeastOfAllSites) {
  auto sites = three_sites();
  sites[1].record.elements_max = 1056;
  sites[2].record.elements_max = 3456;
  EXPECT_EQ(job_use("job", sites)->elements_max, 1056U);
}

TEST(JobUse, FormatsAreThoseThatEverySiteSums) {
  auto sites = three_sites();
  sites[0].record.formats = FormatSet::of(WireFormat::i32) | FormatSet::of(WireFormat::bfp8);
  sites[1].record.elements_max = 1056;
  sites[2].record.formats = FormatSet::of(WireFormat::i32) | FormatSet::of(WireFormat::i64);
  EXPECT_EQ(job_use("job", sites)->elements_max, 1056U);
  EXPECT_EQ(job_use("job", sites)->formats, FormatSet::of(WireFormat::i32));
}

TEST(JobUse, AFormatThatIsAskedForMustBeSummedEverywhere) {
  auto sites = three_sites();
  sites[1].record.formats = FormatSet::of(WireFormat::i32) | FormatSet::of(WireFormat::i16);
  const FormatSet asked = FormatSet::of(WireFormat::i32) | FormatSet::of(WireFormat::bfp16);
  EXPECT_EQ(refusal_of_job(sites, asked),
            "job 'job': the site at :7701 does not sum bfp16, which the job asks for; it sums "
            "i16, i32");
  EXPECT_TRUE(job_use("job", sites, FormatSet::of(WireFormat::i32)).has_value());
}

// As in the kernel, in jobs without trees.
TEST(JobUse, NativeTypesAreThoseThatEverySiteSums) {
  auto sites = three_sites();
  EXPECT_EQ(job_use("job", sites)->native, core::FloatTypes::all());
  const FormatSet native = FormatSet::of(WireFormat::native);
  sites[1].record.formats = FormatSet::all() - native;
  sites[1].record.native_types =
      core::FloatTypes::of(DataType::f32) | core::FloatTypes::of(DataType::f16);
  sites[2].record.formats = FormatSet::all() - native;
  sites[2].record.native_types =
      core::FloatTypes::of(DataType::f32) | core::FloatTypes::of(DataType::bf16);
  ASSERT_TRUE(job_use("job", sites, native).has_value());
  EXPECT_EQ(job_use("job", sites)->native, core::FloatTypes::of(DataType::f32));
  EXPECT_FALSE(job_use("job", sites)->formats.has(WireFormat::native));
  sites[2].record.native_types = core::FloatTypes::of(DataType::bf16);
  sites[1].record.native_types = core::FloatTypes::of(DataType::f16);
  EXPECT_THAT(refusal_of_job(sites, native), HasSubstr("rank 2's site does not sum native"));
  EXPECT_TRUE(job_use("job", sites)->native.is_empty());
}

TEST(JobUse, SitesWithoutAFormatInCommonAreRefused) {
  auto sites = three_sites();
  sites[0].record.formats = FormatSet::of(WireFormat::i32);
  sites[2].record.formats = FormatSet::of(WireFormat::i64);
  EXPECT_THAT(refusal_of_job(sites),
              HasSubstr("rank 2's site sums i64, and the sites before it have only i32 in common"));
}

TEST(JobUse, ASiteTakesNoMoreWorkersThanItSays) {
  auto sites = three_sites();
  sites[0].record.workers_max = 4;
  EXPECT_TRUE(job_use("job", sites).has_value());
  sites[0].workers = 5;
  EXPECT_THAT(refusal_of_job(sites),
              HasSubstr("the site at :7700 takes 4 workers, and the job has 5 there"));
}

TEST(JobUse, ARefusalForTooManyWorkersNamesTheRemedy) {
  auto sites = three_sites();
  sites[1].workers = 300;
  EXPECT_THAT(
      refusal_of_job(sites),
      AllOf(HasSubstr("the site at :7701 takes 256 workers, and the job has 300 there"),
            HasSubstr("put the ranks into racks, or into more racks (infold switch --parent)")));
}

// bits name ranks below 256 alone.
TEST(JobUse, ASiteThatNamesMissingRanksInBitsAloneTakesNoLargerWorld) {
  auto sites = three_sites();
  sites[1].record.sends_ranges = false;
  sites[1].record.sends_bits = true;
  sites[1].world = 256;
  EXPECT_TRUE(job_use("job", sites).has_value());
  sites[1].world = 257;
  EXPECT_THAT(refusal_of_job(sites),
              HasSubstr("the site at :7701 names missing ranks in 256 bits, and the job has 257"));
  sites[1].record.sends_ranges = true;
  EXPECT_TRUE(job_use("job", sites).has_value());
}

TEST(JobUse, ASiteThatDoesNotVerifyChecksumsIsRefused) {
  auto sites = three_sites();
  sites[1].record.verifies_checksums = false;
  EXPECT_THAT(refusal_of_job(sites),
              HasSubstr("the site at :7701 does not verify payload checksums"));
}

// Each worker sends as its own site takes it; PENDING is read in both forms.
TEST(JobUse, SparsePacketsAndFormsOfPendingAreEachSitesOwn) {
  auto sites = three_sites();
  sites[1].record.takes_sparse = false;
  sites[1].record.sends_ranges = false;
  sites[1].record.sends_bits = true;
  EXPECT_EQ(job_use("job", sites)->formats, FormatSet::all());
}

TEST(JobUse, TheFirstSiteThatLacksSomethingIsNamed) {
  auto sites = three_sites();
  sites[1].record.workers_max = 1;
  sites[2].record.verifies_checksums = false;
  EXPECT_THAT(refusal_of_job(sites), AllOf(HasSubstr(":7701"), Not(HasSubstr("rank 2"))));
}

TEST(JobUse, UnknownFormatsAreNoFormats) {
  EXPECT_EQ(FormatSet(0xFFFFFF00U), FormatSet());
  EXPECT_EQ(FormatSet(~0U), FormatSet::all());
  EXPECT_EQ(core::names_of(FormatSet{}), "nothing");
  EXPECT_EQ(names_of(FormatSet::all()), "i8, i16, i32, i64, bfp8, bfp16, bfp32, native");
}

}  // namespace
}  // namespace infold::join::testing
