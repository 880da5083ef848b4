// SPDX-License-Identifier: Apache-2.0
#include "site/serve_loop.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/mutex.h"

namespace infold::site {
namespace {

// A server that reports the same number of packets in every batch, perhaps 0.
class CountingServer final : public PacketServer {
 public:
  explicit CountingServer(std::size_t batch) : batch_(batch) {}

  std::size_t serve() override {
    is_serving_ = true;
    std::this_thread::yield();
    ++batches_;
    is_serving_ = false;
    return batch_;
  }
  bool last_was_small() const override { return false; }
  void wait(base::Instant) override {
    base::MutexLock lock(mutex_);
    while (!is_woken_) woken_.wait(lock);
    is_woken_ = false;
  }
  void wake() override {
    const base::MutexLock lock(mutex_);
    is_woken_ = true;
    woken_.notify_one();
  }

  // Call these on the loop's thread, or after it has ended.
  int batches() const { return batches_; }
  bool is_serving() const { return is_serving_; }

 private:
  const std::size_t batch_;
  int batches_ = 0;
  bool is_serving_ = false;

  base::Mutex mutex_;
  base::ConditionVariable woken_;
  bool is_woken_ GUARDED_BY(mutex_) = false;
};

TEST(ServeLoop, RunsCommandsOnItsThreadWhileNothingArrives) {
  CountingServer server(0);
  ServeLoop loop("test", server);
  std::thread::id first;
  std::thread::id second;
  loop.run([&first] { first = std::this_thread::get_id(); });
  loop.run([&second] { second = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(ServeLoop, RunsCommandsBetweenBatchesThatNeverEnd) {
  CountingServer server(1);
  ServeLoop loop("test", server);
  int before = 0;
  for (int i = 0; i < 20; ++i) {
    bool is_serving = true;
    int after = before;
    while (after == before) {
      loop.run([&] {
        is_serving = server.is_serving();
        after = server.batches();
      });
      EXPECT_FALSE(is_serving);
    }
    before = after;
  }
}

TEST(ServeLoop, ServesNothingAfterStop) {
  CountingServer server(1);
  ServeLoop loop("test", server);
  loop.stop();
  const int batches = server.batches();
  std::this_thread::yield();
  loop.stop();
  EXPECT_EQ(server.batches(), batches);
}

}  // namespace
}  // namespace infold::site
