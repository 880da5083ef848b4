// SPDX-License-Identifier: Apache-2.0
#include "core/worker/lull.h"

#include <gtest/gtest.h>

namespace infold::core {
namespace {

using base::Duration;
using base::Instant;
using base::milliseconds;
using base::seconds;

constexpr Instant kOrigin = {};

// Measures the lull that begins at `begin`, in steps of a tenth of a millisecond.
Duration length_of(Lull& lull, Instant begin, Duration offset, RoundTrip& path) {
  constexpr Duration kStep = base::microseconds(100);
  Duration length;
  while (lull.covers(begin + length, offset, path)) length = length + kStep;
  return length;
}

TEST(Lull, ComesEveryPeriodOfTheWallClock) {
  for (const Duration offset : {seconds(0), milliseconds(300), seconds(1'700'000'001)}) {
    Lull lull;
    RoundTrip path;
    path.add(base::microseconds(100));
    const Duration to_next = {Lull::kPeriod.ns - offset.ns % Lull::kPeriod.ns};
    EXPECT_FALSE(lull.covers(kOrigin, offset, path)) << "begins with one";
    for (int period = 0; period < 3; ++period) {
      const Instant next = kOrigin + to_next + Lull::kPeriod * period;
      EXPECT_FALSE(lull.covers(next + Duration{-1}, offset, path));
      EXPECT_EQ(length_of(lull, next, offset, path), Lull::kLeast);
    }
  }
}

TEST(Lull, LastsLongerWhereTheRoundTripIsLongAndComesLessOften) {
  Lull lull;
  RoundTrip path;
  path.add(milliseconds(40));
  EXPECT_FALSE(lull.covers(kOrigin, {}, path));
  std::int64_t covered_ns = 0;
  constexpr Duration kStep = milliseconds(10);
  constexpr std::int64_t kSteps = 12'800;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    if (lull.covers(kOrigin + kStep * i, {}, path)) covered_ns += kStep.ns;
  }
  EXPECT_GE(covered_ns, milliseconds(160).ns) << "no lull in two minutes";
  EXPECT_LE(covered_ns, kStep.ns * kSteps / 64);
}

TEST(Lull, MeasuresThePathAnew) {
  for (const Duration measured : {milliseconds(1), milliseconds(9)}) {
    Lull lull;
    RoundTrip path;
    path.add(milliseconds(3));
    EXPECT_FALSE(lull.covers(kOrigin, {}, path));
    EXPECT_TRUE(lull.covers(kOrigin + Lull::kPeriod, {}, path));
    lull.on_sample(measured + milliseconds(2));
    lull.on_sample(measured);
    EXPECT_FALSE(lull.covers(kOrigin + Lull::kPeriod + milliseconds(20), {}, path));
    EXPECT_EQ(path.least(), measured);
  }
}

TEST(Lull, LeavesThePathAsItIsWhereNothingWasSent) {
  Lull lull;
  RoundTrip path;
  path.add(milliseconds(3));
  for (int period = 0; period < 3; ++period) {
    const Instant begin = kOrigin + Lull::kPeriod * period;
    (void)lull.covers(begin, {}, path);
    EXPECT_FALSE(lull.covers(begin + milliseconds(20), {}, path));
  }
  EXPECT_EQ(path.least(), milliseconds(3));
}

}  // namespace
}  // namespace infold::core
