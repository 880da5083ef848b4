// SPDX-License-Identifier: Apache-2.0
#include "status/log_rate.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace infold::status {
namespace {

std::uint64_t admitted(LogRate& rate, base::Instant now, std::string_view kind,
                       std::uint64_t count) {
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < count; ++i) written += rate.admit(now, kind) ? 1 : 0;
  return written;
}

TEST(LogRate, AWindowTakesSoManyOfAKindAndTheNextOneTellsTheRest) {
  LogRate rate;
  const base::Instant start = {1'000};
  EXPECT_EQ(admitted(rate, start, "refused", 1'000), kLogLinesPerWindow);
  EXPECT_EQ(admitted(rate, start, "joined", 1), 1U);
  EXPECT_FALSE(rate.poll_left_out(start + (kLogWindow - base::nanoseconds(1))));
  const base::Instant later = start + kLogWindow + base::seconds(2);
  const auto left_out = rate.poll_left_out(later);
  ASSERT_TRUE(left_out);
  EXPECT_EQ(left_out->kind, "refused");
  EXPECT_EQ(left_out->count, 1'000U - kLogLinesPerWindow);
  EXPECT_EQ(left_out->span, base::seconds(12));
  EXPECT_FALSE(rate.poll_left_out(later));
  EXPECT_EQ(admitted(rate, later, "refused", 1'000), kLogLinesPerWindow);
}

TEST(LogRate, AQuietKindBeginsAFreshWindow) {
  LogRate rate;
  EXPECT_EQ(admitted(rate, {0}, "joined", kLogLinesPerWindow), kLogLinesPerWindow);
  EXPECT_EQ(admitted(rate, {kLogWindow.ns}, "joined", 1), 1U);
  EXPECT_FALSE(rate.poll_left_out({kLogWindow.ns * 2}));
}

TEST(LogRate, TheEndTellsWhatAWindowStillHolds) {
  LogRate rate;
  admitted(rate, {5}, "refused", kLogLinesPerWindow + 3);
  EXPECT_FALSE(rate.poll_left_out({6}));
  const auto left_out = rate.take_left_out({6});
  ASSERT_TRUE(left_out);
  EXPECT_EQ(left_out->count, 3U);
  EXPECT_FALSE(rate.take_left_out({6}));
}

// The table is bounded, so all further kinds share its last place.
TEST(LogRate, KindsBeyondTheTableShareAWindow) {
  LogRate rate;
  std::vector<std::string> kinds;
  for (int i = 0; i < 100; ++i) kinds.push_back("kind" + std::to_string(i));
  for (const std::string& kind : kinds) EXPECT_TRUE(rate.admit({0}, kind));
  EXPECT_EQ(admitted(rate, {0}, kinds[0], 1'000), kLogLinesPerWindow - 1);
  EXPECT_EQ(admitted(rate, {0}, kinds[99], 1'000), kLogLinesPerWindow - 37);
  const auto first = rate.take_left_out({0});
  const auto second = rate.take_left_out({0});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kind, "kind0");
  EXPECT_EQ(second->kind, "other");
}

}  // namespace
}  // namespace infold::status
