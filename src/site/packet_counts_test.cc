// SPDX-License-Identifier: Apache-2.0
//
// Tests that all planes count outcomes under the same names.
#include "site/packet_counts.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace infold::site {
namespace {

std::set<std::string> names_of(const std::vector<status::PacketCount>& counts) {
  std::set<std::string> names;
  for (const status::PacketCount& each : counts) names.insert(each.verdict);
  return names;
}

// If two reasons shared a name, one would be reported as the other.
TEST(PacketCounts, EveryReasonHasANameOfItsOwn) {
  const std::set<std::string> names = names_of(named_counts(PacketCounts{}));
  EXPECT_EQ(names.size(), kPacketCounts);
  EXPECT_EQ(names.count("unknown"), 0U);
}

TEST(PacketCounts, EachCountKeepsItsName) {
  PacketCounts counts{};
  counts[count_index(core::Verdict::completed)] = 20;
  counts[count_index(PlaneVerdict::answered_probe)] = 8;
  for (const auto& named : {named_counts(counts), named_counts_in_user_space(counts)}) {
    status::SwitchMetrics metrics;
    metrics.packets = named;
    EXPECT_EQ(metrics.packets_of("completed"), 20U);
    EXPECT_EQ(metrics.packets_of("answered_probe"), 8U);
  }
}

TEST(PacketCounts, ASwitchInUserSpaceLeavesOutWhatItNeverSees) {
  const std::set<std::string> names = names_of(named_counts_in_user_space(PacketCounts{}));
  EXPECT_EQ(names.count("dropped_tag"), 1U);
  EXPECT_EQ(names.count("dropped_checksum"), 0U);
  EXPECT_EQ(names.count("dropped_stray"), 0U);
}

TEST(PacketCounts, OnlyTheRunningJobOfANumberGetsPackets) {
  std::vector<status::JobMetrics> jobs = {{"train", 3, 4, 4, 512, true}, {"late", 3, 2, 1}};
  core::VerdictCounters verdicts{};
  verdicts[count_index(core::Verdict::completed)] = 19;
  set_job_packets(3, verdicts, jobs);
  set_job_packets(9, verdicts, jobs);  // a job that has just ended
  ASSERT_EQ(jobs[0].packets.size(), verdicts.size());
  EXPECT_STREQ(jobs[0].packets[count_index(core::Verdict::completed)].verdict, "completed");
  EXPECT_EQ(jobs[0].packets[count_index(core::Verdict::completed)].packets, 19U);
  EXPECT_TRUE(jobs[1].packets.empty());
}

}  // namespace
}  // namespace infold::site
