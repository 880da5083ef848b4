// SPDX-License-Identifier: Apache-2.0
#include "study/desk/interrupt.h"

#include <chrono>
#include <csignal>
#include <latch>
#include <pthread.h>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

namespace infold::desk {
namespace {

// Only a hang reaches this limit, even on a slow machine.
constexpr std::chrono::seconds kHang{100};

TEST(InterruptGuard, WaitsUntilASignalComes) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.wait_for(std::chrono::milliseconds(1)));
  EXPECT_STREQ(InterruptGuard::signal_name(), "");
  std::raise(SIGTERM);
  EXPECT_TRUE(InterruptGuard::interrupted());
  EXPECT_STREQ(InterruptGuard::signal_name(), "SIGTERM");
  EXPECT_TRUE(guard.wait_for(kHang));
  EXPECT_TRUE(guard.wait_for(kHang)) << "asked again";
}

// The kernel may hand a signal to any thread that does not block it, and gRPC's threads do not
// block any.
TEST(InterruptGuard, HearsASignalThatAnotherThreadTook) {
  const InterruptGuard guard;
  std::latch looks{1};
  std::latch done{1};
  std::thread other([&] {
    looks.count_down();
    done.wait();
  });
  looks.wait();
  std::thread sender([&] { pthread_kill(other.native_handle(), SIGINT); });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(guard.wait_for(kHang));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kHang) << "the wait did not end";
  EXPECT_STREQ(InterruptGuard::signal_name(), "SIGINT");
  sender.join();
  done.count_down();
  other.join();
}

TEST(InterruptStop, IsRequestedWhenASignalComes) {
  const InterruptGuard guard;
  const InterruptStop stop(guard);
  EXPECT_FALSE(stop.token().stop_requested());
  std::latch heard{1};
  const std::stop_callback on_stop(stop.token(), [&] { heard.count_down(); });
  std::raise(SIGTERM);
  heard.wait();
  EXPECT_TRUE(stop.token().stop_requested());
}

TEST(InterruptStop, EndsWithoutASignal) {
  const InterruptGuard guard;
  std::stop_token token;
  {
    const InterruptStop stop(guard);
    token = stop.token();
  }
  EXPECT_FALSE(token.stop_requested());
}

TEST(InterruptGuard, LeavesSignalsAsItFoundThem) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  {
    const InterruptGuard guard;
  }
  EXPECT_EQ(std::signal(SIGTERM, before), SIG_IGN);
}

}  // namespace
}  // namespace infold::desk
