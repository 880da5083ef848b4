// SPDX-License-Identifier: Apache-2.0
//
// Replays drawn scenarios of `./dev sim` on the packet program. They have all formats and
// operations, losses, repeats, reordering, damage, old epochs, other jobs, ends of jobs, and trees.
#include "tests/replay/replay.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace infold::replay {
namespace {

#ifdef INFOLD_SANITIZED
constexpr std::uint64_t kSeeds = 40;
#else
constexpr std::uint64_t kSeeds = 400;
#endif

// With every third seed, frames do not grow.
conformance::XdpPlane& plane_of(std::uint64_t seed) {
  std::string why_not;
  return *conformance::XdpPlane::shared(&why_not, seed % 3 != 0);
}

bool have_planes(std::string& why_not) {
  for (const bool grows : {true, false}) {
    if (conformance::XdpPlane::shared(&why_not, grows) != nullptr) continue;
    EXPECT_FALSE(why_not.starts_with("refused")) << why_not;
    return false;
  }
  return true;
}

TEST(Replay, ThePacketProgramDoesWhatTheAggregatorDoes) {
  std::string why_not;
  if (!have_planes(why_not)) GTEST_SKIP() << why_not;
  const char* const only = std::getenv("INFOLD_REPLAY_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only != nullptr ? first : kSeeds;
  ReplayCounters counters;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::string difference = replay_seed(seed, plane_of(seed), counters);
    ASSERT_EQ(difference, "") << "repeat with: INFOLD_REPLAY_SEED=" << seed
                              << " ./dev test Replay.ThePacketProgram";
  }
  if (only != nullptr) return;
  // A replay without faults would prove nothing about faults.
  for (const char* verdict :
       {"contributed", "completed", "replayed", "answered_pending", "forwarded_again", "delivered",
        "job_ended", "answered_ended", "dropped_malformed", "dropped_foreign_job",
        "dropped_stale_epoch", "dropped_tag", "dropped_bad_slot", "dropped_limits",
        "dropped_stale_round", "dropped_early_round", "dropped_repeat"}) {
    EXPECT_GT(counters.verdicts[verdict], 0U) << verdict;
  }
  EXPECT_GT(counters.damaged, 0U);
  EXPECT_GT(counters.hostile, 0U);
  for (const auto& [verdict, count] : counters.verdicts) {
    RecordProperty(verdict, std::to_string(count));
  }
}

TEST(Replay, BodiesAtTheEndsOfTheirBits) {
  std::string why_not;
  if (!have_planes(why_not)) GTEST_SKIP() << why_not;
  const char* const only = std::getenv("INFOLD_REPLAY_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only != nullptr ? first : 4 * kSeeds;
  ReplayCounters counters;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::string difference = replay_extremes(seed, plane_of(seed), counters);
    ASSERT_EQ(difference, "") << "repeat with: INFOLD_REPLAY_SEED=" << seed
                              << " ./dev test Replay.BodiesAtTheEnds";
  }
  if (only == nullptr) {
    EXPECT_GT(counters.verdicts["completed"], kSeeds);
  }
}

TEST(Replay, FloatsAreSummedExactly) {
  std::string why_not;
  if (!have_planes(why_not)) GTEST_SKIP() << why_not;
  const char* const only = std::getenv("INFOLD_REPLAY_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only != nullptr ? first : kSeeds / 8;
  ReplayCounters counters;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::string difference = replay_floats(seed, plane_of(seed), counters);
    ASSERT_EQ(difference, "") << "repeat with: INFOLD_REPLAY_SEED=" << seed
                              << " ./dev test Replay.FloatsAre";
  }
  if (only == nullptr) {
    EXPECT_EQ(counters.verdicts["completed"], 5 * (kSeeds / 8));
  }
}

TEST(Replay, TheMissingAreListedAlike) {
  std::string why_not;
  if (!have_planes(why_not)) GTEST_SKIP() << why_not;
  const char* const only = std::getenv("INFOLD_REPLAY_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only != nullptr ? first : kSeeds / 10;
  ReplayCounters counters;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::string difference = replay_missing(seed, plane_of(seed), counters);
    ASSERT_EQ(difference, "") << "repeat with: INFOLD_REPLAY_SEED=" << seed
                              << " ./dev test Replay.TheMissing";
  }
  if (only == nullptr) {
    EXPECT_GT(counters.verdicts["answered_pending"], kSeeds);
    EXPECT_GT(counters.verdicts["replayed"], 0U);
    EXPECT_GT(counters.verdicts["forwarded_again"], 0U);
    EXPECT_GT(counters.verdicts["dropped_repeat"], 0U);
  }
}

}  // namespace
}  // namespace infold::replay
