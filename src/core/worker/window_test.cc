// SPDX-License-Identifier: Apache-2.0
//
// Tests the window on a model path: a pipe of fixed rate and delay. Chunks that do not fit the pipe
// queue.
#include "core/worker/window.h"

#include <gtest/gtest.h>

namespace infold::core {
namespace {

using base::Duration;
using base::microseconds;
using base::milliseconds;

struct Pipe {
  Duration empty;   // round trip without a queue
  double capacity;  // chunks that fit in it without a queue

  Duration round_trip(std::uint32_t in_flight) const {
    const double queued = std::max(0.0, in_flight - capacity);
    return {empty.ns +
            static_cast<std::int64_t>(queued / capacity * static_cast<double>(empty.ns))};
  }
};

void run(Window& window, RoundTrip& path, const Pipe& pipe, int rounds, double loss = 0) {
  double lost = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t size = window.size();
    for (std::uint32_t i = 0; i < size; ++i) {
      const Duration sample = pipe.round_trip(window.size());
      path.add(sample);
      window.on_sample(sample);
      for (lost += loss; lost >= 1; lost -= 1) window.on_loss();
      window.on_result();
      window.end_round_if_due(path);
    }
  }
}

TEST(Window, FillsThePathAndLittleMore) {
  for (const double capacity : {8.0, 50.0, 200.0}) {
    Window window(1024);
    RoundTrip path;
    path.add(milliseconds(10));  // the first packet finds no queue
    const Pipe pipe = {milliseconds(10), capacity};
    run(window, path, pipe, 100);
    EXPECT_GE(window.size(), capacity) << "the path is not full";
    EXPECT_LE(window.size(), 2.5 * capacity) << "more than a path's worth stands in its queue";
  }
}

TEST(Window, RandomLossDoesNotShrinkIt) {
  Window window(1024);
  RoundTrip path;
  path.add(milliseconds(10));
  const Pipe pipe = {milliseconds(10), 100};
  run(window, path, pipe, 200, 0.02);
  EXPECT_GE(window.size(), 100U);
}

TEST(Window, HeavyLossDoes) {
  Window window(1024);
  RoundTrip path;
  path.add(milliseconds(10));
  run(window, path, {milliseconds(10), 100}, 200, 0.2);
  EXPECT_LE(window.size(), 50U);
}

TEST(Window, DoublesOnceMoreAtMostWhenAQueueOverflows) {
  Window window(4096);
  RoundTrip path;
  path.add(milliseconds(10));
  const Pipe pipe = {milliseconds(10), 4096};  // no sample shows a queue, because the path drops
  run(window, path, pipe, 3);
  const std::uint32_t before = window.size();
  run(window, path, pipe, 1, 0.08);
  EXPECT_LE(window.size(), 2 * before);
  run(window, path, pipe, 1, 0.02);
  EXPECT_LE(window.size(), 2 * before);
}

TEST(Window, FollowsAPathThatBecomesLonger) {
  Window window(1024);
  RoundTrip path;
  path.add(milliseconds(10));
  run(window, path, {milliseconds(10), 20}, 100);
  run(window, path, {milliseconds(100), 200}, 300);
  EXPECT_GE(window.size(), 200U) << "took the longer path for a queue";
}

// Packets wait for processors here, not for links, and a millisecond's worth of them may queue.
TEST(Window, MakesLongTrainsOnAFastPath) {
  Window window(1024);
  RoundTrip path;
  path.add(microseconds(50));
  run(window, path, {microseconds(50), 10}, 100);
  EXPECT_GE(window.size(), 150U);
  EXPECT_LE(window.size(), 300U);
}

// A chunk takes ten microseconds. Large tensors may queue for a millisecond, small ones for less.
TEST(Window, QueuesLessForSmallTensors) {
  const Pipe pipe = {microseconds(100), 10};
  RoundTrip path;
  path.add(microseconds(100));
  Window small = Window::of_small_tensors(1024);
  run(small, path, pipe, 100);
  EXPECT_GE(small.size(), 25U);
  EXPECT_LE(small.size(), 40U);
  Window large(1024);
  run(large, path, pipe, 100);
  EXPECT_GE(large.size(), 100U);
}

// Runs two windows in turn on a link that holds 20 chunks.
void run_beside(Window& one, Window& other) {
  const Pipe pipe = {milliseconds(2), 20};
  RoundTrip paths[2];
  for (RoundTrip& path : paths) path.add(milliseconds(2));
  const auto round = [&](Window& window, RoundTrip& path) {
    const Duration sample = pipe.round_trip(one.size() + other.size());
    for (std::uint32_t i = window.size(); i > 0; --i) {
      window.on_sample(sample);
      window.on_result();
      window.end_round_if_due(path);
    }
  };
  for (int rounds = 0; rounds < 100; ++rounds) {
    round(one, paths[0]);
    round(other, paths[1]);
  }
}

// One window has 90 chunks in flight, the other a handful.
TEST(Window, BecomesAsLargeAsAnotherOnTheSamePath) {
  Window large(1024);
  Window small(1024);
  RoundTrip path_of_large;
  RoundTrip path_of_small;
  for (RoundTrip* path : {&path_of_large, &path_of_small}) path->add(milliseconds(2));
  run(large, path_of_large, {milliseconds(2), 80}, 100);
  run(small, path_of_small, {milliseconds(2), 1}, 40);
  EXPECT_GE(large.size(), 80U);
  EXPECT_LE(small.size(), 6U);
  run_beside(large, small);
  EXPECT_NEAR(large.size(), small.size(), 2);
  EXPECT_GE(large.size() + small.size(), 20U);
}

// Two sites of one job, the first with twice or five times the share of the second.
TEST(Window, SharesALinkByWeight) {
  for (const std::uint32_t factor : {1U, 2U, 5U}) {
    Window heavy(1024, 16 * factor);
    Window light(1024, 16);
    run_beside(heavy, light);
    EXPECT_NEAR(heavy.size(), factor * light.size(), 2 + factor) << factor;
    EXPECT_GE(heavy.size() + light.size(), 20U) << factor;
  }
}

TEST(Window, MayBeFixed) {
  Window window = Window::fixed(7);
  RoundTrip path;
  path.add(microseconds(1));
  run(window, path, {milliseconds(5), 1}, 50);
  EXPECT_EQ(window.size(), 7U) << "took the wait for others for a queue";
}

TEST(Window, StaysWithinItsSlots) {
  Window window(3);
  RoundTrip path;
  path.add(milliseconds(10));
  run(window, path, {milliseconds(10), 100}, 50);
  EXPECT_EQ(window.size(), 3U);
}

TEST(RoundTrip, TimeoutFollowsAndIsBounded) {
  RoundTrip path;
  EXPECT_EQ(path.timeout(), RoundTrip::kInitialTimeout);
  for (int i = 0; i < 100; ++i) path.add(microseconds(1000));
  EXPECT_GE(path.timeout(), microseconds(1500));
  EXPECT_LE(path.timeout(), microseconds(1600));
  for (int i = 0; i < 100; ++i) path.add(base::nanoseconds(500));
  EXPECT_EQ(path.timeout(), RoundTrip::kTimeoutMin);
  for (int i = 0; i < 100; ++i) path.add(base::seconds(5));
  EXPECT_EQ(path.timeout(), RoundTrip::kTimeoutMax);
  EXPECT_EQ(path.least(), base::nanoseconds(500));
}

// A time from the last of several sends may be shorter than the path. It counts for timeouts, but a
// window that took it for the path would see a queue forever.
TEST(RoundTrip, AnUnclearTimeIsNotTheShortest) {
  RoundTrip path;
  path.add_unclear(milliseconds(14));
  EXPECT_EQ(path.mean(), milliseconds(14));
  EXPECT_EQ(path.least(), milliseconds(14)) << "nothing better is known";
  path.add_unclear(milliseconds(17));
  EXPECT_EQ(path.least(), milliseconds(17));
  path.add(milliseconds(25));
  EXPECT_EQ(path.least(), milliseconds(25));
  path.add_unclear(milliseconds(12));
  EXPECT_EQ(path.least(), milliseconds(25));
  path.add(milliseconds(24));
  EXPECT_EQ(path.least(), milliseconds(24));
}

}  // namespace
}  // namespace infold::core
