// SPDX-License-Identifier: Apache-2.0
#include "lab/interrupt.h"

#include <chrono>
#include <csignal>
#include <latch>
#include <pthread.h>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

namespace infold::lab {
namespace {

// A hang is the failure; a slow machine is none.
constexpr std::chrono::seconds kHang{100};

TEST(InterruptGuard, WaitsUntilTheWishComes) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.wait_for(std::chrono::milliseconds(1)));
  EXPECT_STREQ(InterruptGuard::signal_name(), "");
  std::raise(SIGTERM);
  EXPECT_TRUE(InterruptGuard::interrupted());
  EXPECT_STREQ(InterruptGuard::signal_name(), "SIGTERM");
  EXPECT_TRUE(guard.wait_for(kHang));
  EXPECT_TRUE(guard.wait_for(kHang)) << "asked again";
}

// As the kernel does when the thread that waits is not the first it finds: gRPC's threads block no
// signal.
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
  EXPECT_LT(std::chrono::steady_clock::now() - start, kHang) << "nobody woke the wait";
  EXPECT_STREQ(InterruptGuard::signal_name(), "SIGINT");
  sender.join();
  done.count_down();
  other.join();
}

TEST(InterruptStop, IsAskedForWhenTheWishComes) {
  const InterruptGuard guard;
  const InterruptStop stop(guard);
  EXPECT_FALSE(stop.token().stop_requested());
  std::latch heard{1};
  const std::stop_callback on_stop(stop.token(), [&] { heard.count_down(); });
  std::raise(SIGTERM);
  heard.wait();
  EXPECT_TRUE(stop.token().stop_requested());
}

TEST(InterruptStop, EndsWithoutAWish) {
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
}  // namespace infold::lab
