// SPDX-License-Identifier: Apache-2.0
#include "study/desk/hangup.h"

#include <csignal>

#include <gtest/gtest.h>

namespace infold::desk {
namespace {

TEST(HangupNotice, TakesASignalInsteadOfTheProcess) {
  const HangupNotice notice;
  EXPECT_FALSE(HangupNotice::take());
  ASSERT_EQ(std::raise(SIGHUP), 0);
  ASSERT_EQ(std::raise(SIGHUP), 0);
  EXPECT_TRUE(HangupNotice::take());
  EXPECT_FALSE(HangupNotice::take()) << "both counted as one";
}

}  // namespace
}  // namespace infold::desk
