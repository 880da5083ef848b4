// SPDX-License-Identifier: Apache-2.0
#include "rank/session/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::rank {
namespace {

TEST(Rendezvous, FindsAPortAndNamesAnAddressThatIsTaken) {
  const auto any = *io::SocketAddress::parse_number("127.0.0.1:0", "test");
  const auto first = Rendezvous::open("127.0.0.1:0", any);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const io::SocketAddress taken = (*first)->address();
  EXPECT_NE(taken.port(), 0);
  const auto second = Rendezvous::open("here:1", taken);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::unavailable);
  EXPECT_THAT(second.error().message, ::testing::HasSubstr("rank 0 cannot listen at here:1: "));
}

}  // namespace
}  // namespace infold::rank
