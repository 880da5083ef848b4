// SPDX-License-Identifier: Apache-2.0
#include "io/host/patience.h"

#include <limits>

#include <gtest/gtest.h>

#include "io/host/clock.h"

namespace infold::io {
namespace {

TEST(Patience, IsNeverShorterThanTheTimeThatIsLeft) {
  const base::Instant now = monotonic_now();
  EXPECT_EQ(milliseconds_until(now), 0);
  EXPECT_EQ(milliseconds_until(base::Instant{0}), 0);
  const int most = milliseconds_until(now + base::seconds(3600) + base::nanoseconds(1));
  EXPECT_LE(most, 3'600'001);
  EXPECT_GT(most, 3'500'000);
  EXPECT_EQ(milliseconds_until(base::Instant::never()), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace infold::io
