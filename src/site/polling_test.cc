// SPDX-License-Identifier: Apache-2.0
#include "site/polling.h"

#include <gtest/gtest.h>

namespace infold::site {
namespace {

using base::Duration;
using base::Instant;
using base::microseconds;

// Imitates a thread that polls every microsecond as long as it may, until something arrives.
class Waiting : public testing::Test {
 protected:
  // Returns how long the thread polled before it slept, or until the arrival.
  Duration wait(Duration comes_after, bool short_lived = true) {
    const Instant begin = now_;
    const Instant end = now_ + comes_after;
    while (now_ < end && polling_.looks_again(now_, short_lived)) now_ = now_ + microseconds(1);
    const Duration looked = now_ - begin;
    now_ = end;
    // A sleep may end early for another reason, and the thread then asks again.
    if (looked < comes_after) {
      EXPECT_FALSE(polling_.looks_again(now_, short_lived));
    }
    polling_.found(now_);
    now_ = now_ + microseconds(5);
    return looked;
  }

  Polling polling_;
  Instant now_;
};

TEST_F(Waiting, LearnsFromShortSleeps) {
  EXPECT_EQ(wait(microseconds(50)), Duration{});
  EXPECT_EQ(wait(microseconds(50)), microseconds(10));
  EXPECT_EQ(wait(microseconds(50)), microseconds(20));
  EXPECT_EQ(wait(microseconds(50)), microseconds(40));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wait(microseconds(50)), microseconds(50));
  EXPECT_EQ(wait(microseconds(150)), microseconds(80))
      << "the limit does not grow after a poll that sufficed";
}

TEST_F(Waiting, OneLongWaitEndsIt) {
  for (int i = 0; i < 10; ++i) wait(microseconds(190));
  EXPECT_EQ(wait(microseconds(5'000)), microseconds(200));
  EXPECT_EQ(wait(microseconds(5'000)), Duration{});
  EXPECT_EQ(wait(microseconds(100)), Duration{});
  EXPECT_EQ(wait(microseconds(100)), microseconds(10));
}

TEST_F(Waiting, LongTransfersNeitherPollNorTeach) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wait(microseconds(20), false), Duration{});
  EXPECT_EQ(wait(microseconds(20)), Duration{});
  for (int i = 0; i < 10; ++i) wait(microseconds(20));
  EXPECT_EQ(wait(microseconds(5'000), false), Duration{});
  EXPECT_EQ(wait(microseconds(20)), microseconds(20)) << "the limit of small tensors is kept";
}

}  // namespace
}  // namespace infold::site
