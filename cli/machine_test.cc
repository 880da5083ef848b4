// SPDX-License-Identifier: Apache-2.0
//
// Tests what `infold doctor` concludes from given limits.

#include "cli/machine.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::cli {
namespace {

using testing::HasSubstr;

TEST(SocketBuffers, AdviseWhatASwitchAsksFor) {
  EXPECT_TRUE(inspect_socket_buffer("receive", "rmem_max", 4'194'304).ok);
  const Finding finding = inspect_socket_buffer("receive", "rmem_max", 212'992);
  EXPECT_FALSE(finding.ok);
  EXPECT_EQ(finding.found, "net.core.rmem_max = 212992");
  EXPECT_EQ(finding.advice, "sudo sysctl -w net.core.rmem_max=16777216");
  EXPECT_FALSE(inspect_socket_buffer("send", "wmem_max", std::nullopt).ok);
}

TEST(OpenFiles, TheHardLimitDecidesBecauseASwitchRaisesTheSoftOne) {
  const Finding finding = inspect_open_files({1024, 524'288});
  EXPECT_TRUE(finding.ok);
  EXPECT_EQ(finding.found,
            "RLIMIT_NOFILE soft 1024, hard 524288; a switch accepts 8192 connections");
  EXPECT_EQ(finding.advice, "");
}

TEST(OpenFiles, FewerConnectionsThanASwitchWantsAreAWarning) {
  const Finding finding = inspect_open_files({1024, 4096});
  EXPECT_FALSE(finding.ok);
  EXPECT_THAT(finding.found, HasSubstr("a switch accepts 3968 connections"));
  EXPECT_THAT(finding.advice, HasSubstr("hard limit to 8320"));
  EXPECT_TRUE(inspect_open_files({1024, 8320}).ok);
}

TEST(OpenFiles, NoLimitIsReportedAsUnlimited) {
  const Finding finding = inspect_open_files({1'048'576, SIZE_MAX});
  EXPECT_TRUE(finding.ok);
  EXPECT_THAT(finding.found, HasSubstr("hard unlimited; a switch accepts 8192"));
}

}  // namespace
}  // namespace infold::cli
