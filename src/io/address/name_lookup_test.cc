// SPDX-License-Identifier: Apache-2.0
#include "io/address/name_lookup.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "io/host/clock.h"

namespace infold::io {
namespace {

using base::Code;

// Imitates name servers that do not answer: the look-up lasts until the test is over.
std::atomic<bool> is_held{false};

base::Result<SocketAddress> look_up_for_long(std::string_view, const char* what) {
  is_held.wait(true);
  return base::fail(Code::unavailable, what, "names a host that cannot be found");
}

class NameLookUp : public ::testing::Test {
 protected:
  NameLookUp() { is_held = true; }
  ~NameLookUp() override {
    is_held = false;
    is_held.notify_all();
  }
};

TEST_F(NameLookUp, NumbersTakeNoThread) {
  const auto found = look_up("[::1]:7700", "test", base::Instant{0}, {}, look_up_for_long);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text(), "[::1]:7700");
}

TEST_F(NameLookUp, NamesAreFound) {
  const auto found = look_up("localhost:7700", "test", monotonic_now() + base::seconds(60));
  ASSERT_TRUE(found.has_value()) << found.error().detail;
  EXPECT_EQ(found->port(), 7700);
}

TEST_F(NameLookUp, OneThatLastsIsLeftAtTheDeadline) {
  const auto found =
      look_up("host:7700", "test", monotonic_now() + base::milliseconds(20), {}, look_up_for_long);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Code::deadline_exceeded);
}

TEST_F(NameLookUp, OneThatLastsIsLeftWhenItIsStopped) {
  std::stop_source stop;
  std::thread stops([&stop] { stop.request_stop(); });
  const auto found =
      look_up("host:7700", "test", base::Instant::never(), stop.get_token(), look_up_for_long);
  stops.join();
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Code::cancelled);
}

TEST_F(NameLookUp, WhatIsNoAddressIsSaid) {
  const auto found = look_up("host", "test", monotonic_now() + base::seconds(60));
  ASSERT_FALSE(found.has_value());
  EXPECT_STREQ(found.error().detail, "has no port; write HOST:PORT");
}

}  // namespace
}  // namespace infold::io
