// SPDX-License-Identifier: Apache-2.0
#include "rank/drivers/driver_set.h"

#include <array>
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "io/memory_endpoint.h"

namespace infold::rank {
namespace {

class CountingSink final : public EventSink {
 public:
  std::atomic<int> called = 0;
  std::latch settled{1};

  void take(base::Instant, const core::Event&) override { ++called; }
  void take_end(const core::Failure&, const core::Abort&) override { ++called; }
  void settle() override {
    if (called > 0 && !is_settled_) settled.count_down();
    is_settled_ = is_settled_ || called > 0;
  }

 private:
  bool is_settled_ = false;
};

// A job may end at once, and an early event must not reach an owner that is still being
// constructed.
TEST(DriverSet, CallsNoSinkBeforeItsStart) {
  core::WorkerOptions options;
  options.world = 2;
  options.limits.datagram_bytes_max = 1472;
  options.sites = {{.epoch = 7}};
  io::MemoryEndpoint site({});
  auto endpoint = std::make_unique<io::MemoryEndpoint>(io::MemoryEndpointOptions{});
  io::MemoryEndpoint::connect(*endpoint, site);
  CountingSink sink;
  const std::array<EventSink*, 1> sinks = {&sink};
  DriverSet drivers(options, one_driver(std::move(endpoint)), sinks);
  drivers.with_each([](core::Worker& worker, base::Instant now) { worker.cancel(now); });
  EXPECT_TRUE(drivers.failure().has_value());
  for (int i = 0; i < 10'000; ++i) std::this_thread::yield();  // to a thread that must not exist
  EXPECT_EQ(sink.called, 0);
  drivers.start();
  sink.settled.wait();
  EXPECT_GT(sink.called, 0);
}

}  // namespace
}  // namespace infold::rank
