// SPDX-License-Identifier: Apache-2.0
//
// Tests a queue with both ends in one process: order, bounds, sleeping, and another rank that
// writes impossible values.
#include "io/memory/shared_memory_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/aligned.h"
#include "base/prng.h"

namespace infold::io {
namespace {

// Where the queue's words and its first place lie.
constexpr std::size_t kHeadAt = 0;
constexpr std::size_t kTailAt = 128;
constexpr std::size_t kFirstPlaceAt = 256;

class Queue : public testing::Test {
 protected:
  QueueShape shape_ = {.places = 4, .datagram_bytes_max = 100, .channels = 3};
  base::CacheLineVector<std::byte> memory_ =
      base::CacheLineVector<std::byte>(shape_.memory_bytes(), std::byte{0});
  QueueWriter writer_{memory_, shape_};
  QueueReader reader_{memory_, shape_};
  static std::vector<std::byte> datagram_of(std::uint32_t number, std::size_t bytes = 100) {
    return std::vector<std::byte>(bytes, static_cast<std::byte>(number));
  }
  void write_word(std::size_t at, std::uint32_t value) {
    std::memcpy(memory_.data() + at, &value, sizeof(value));
  }
};

TEST_F(Queue, KeepsOrderAndLengthsWhileItWraps) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(writer_.push(i % 3, datagram_of(i, i % 101)));
    const auto taken = reader_.take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->channel, i % 3);
    ASSERT_EQ(taken->datagram.size(), i % 101);
    EXPECT_TRUE(std::ranges::equal(taken->datagram, datagram_of(i, i % 101)));
    reader_.must_wake_writer();
  }
  EXPECT_FALSE(reader_.take());
}

TEST_F(Queue, CountersMayWrap) {
  // The state after 2^32 - 2 datagrams.
  write_word(kHeadAt, ~0U - 1);
  write_word(kTailAt, ~0U - 1);
  QueueWriter writer(memory_, shape_, ~0U - 1);
  QueueReader reader(memory_, shape_, ~0U - 1);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(writer.push(0, datagram_of(i)));
  EXPECT_FALSE(writer.push(0, datagram_of(4)));
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto taken = reader.take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->datagram[0], static_cast<std::byte>(i));
  }
  EXPECT_FALSE(reader.take());
  EXPECT_FALSE(writer.is_broken() || reader.is_broken());
}

TEST_F(Queue, AFullQueueTakesNothingUntilPlacesAreGivenBack) {
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(writer_.push(0, datagram_of(i)));
  EXPECT_FALSE(writer_.has_room());
  EXPECT_FALSE(writer_.push(0, datagram_of(4)));
  EXPECT_TRUE(writer_.await_room());
  ASSERT_TRUE(reader_.take());
  EXPECT_FALSE(writer_.has_room()) << "taken, but not freed";
  EXPECT_TRUE(reader_.must_wake_writer()) << "the writer waits for room";
  EXPECT_TRUE(writer_.push(0, datagram_of(4)));
  EXPECT_FALSE(writer_.has_room());
  ASSERT_TRUE(reader_.take());
  reader_.must_wake_writer();
  EXPECT_FALSE(writer_.await_room()) << "there is room";
}

TEST_F(Queue, ASleeperIsWokenOnce) {
  EXPECT_TRUE(reader_.may_sleep());
  EXPECT_FALSE(writer_.must_wake_reader()) << "nothing was written";
  writer_.push(0, datagram_of(0));
  EXPECT_TRUE(writer_.must_wake_reader());
  writer_.push(0, datagram_of(1));
  EXPECT_FALSE(writer_.must_wake_reader()) << "woken already";
  EXPECT_FALSE(reader_.may_sleep()) << "there is something to read";
}

// Long datagrams are not published one by one, but at the latest by must_wake_reader().
TEST(LongQueue, DatagramsOfAnyLengthArriveWhole) {
  const QueueShape shape = {.places = 8, .datagram_bytes_max = 9000, .channels = 1};
  base::CacheLineVector<std::byte> memory(shape.memory_bytes(), std::byte{0});
  QueueWriter writer(memory, shape);
  QueueReader reader(memory, shape);
  base::Prng prng(5);
  std::vector<std::byte> source(9064);
  for (std::byte& each : source) each = static_cast<std::byte>(prng.below(256));
  for (const std::size_t bytes : {33U, 4095U, 4096U, 4128U, 8224U, 9000U}) {
    for (const std::size_t from : {0U, 1U, 32U, 64U}) {
      const std::span<const std::byte> datagram = std::span(source).subspan(from, bytes);
      for (const std::size_t head : {bytes, std::min<std::size_t>(bytes, 32), std::size_t{1}}) {
        ASSERT_TRUE(writer.push(0, datagram.first(head), datagram.subspan(head)));
      }
      writer.must_wake_reader();
      for (int i = 0; i < 3; ++i) {
        const auto taken = reader.take();
        ASSERT_TRUE(taken);
        EXPECT_TRUE(std::ranges::equal(taken->datagram, datagram)) << bytes << " from " << from;
      }
      reader.must_wake_writer();
    }
  }
}

TEST_F(Queue, LongerDatagramsAreNotTaken) {
  EXPECT_FALSE(writer_.push(0, datagram_of(0, 101)));
  EXPECT_FALSE(writer_.is_broken());
}

TEST_F(Queue, AnImpossibleHeadEndsIt) {
  writer_.push(0, datagram_of(0));
  write_word(kHeadAt, 5);
  EXPECT_FALSE(reader_.take());
  EXPECT_TRUE(reader_.is_broken());
  write_word(kHeadAt, 1);
  EXPECT_FALSE(reader_.take()) << "for good";
  EXPECT_TRUE(reader_.may_sleep());
}

TEST_F(Queue, AnImpossibleTailEndsIt) {
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(writer_.push(0, datagram_of(i)));
  write_word(kTailAt, 5);
  EXPECT_FALSE(writer_.push(0, datagram_of(4)));
  EXPECT_TRUE(writer_.is_broken());
  write_word(kTailAt, 1);
  EXPECT_FALSE(writer_.push(0, datagram_of(4))) << "for good";
}

TEST_F(Queue, ImpossibleLabelsEndIt) {
  struct Label {
    std::uint32_t bytes, channel;
  };
  for (const Label label : {Label{101, 0}, Label{~0U, 0}, Label{1, 3}, Label{1, ~0U}}) {
    std::fill(memory_.begin(), memory_.end(), std::byte{0});
    QueueWriter writer(memory_, shape_);
    QueueReader reader(memory_, shape_);
    ASSERT_TRUE(writer.push(0, datagram_of(0)));
    std::memcpy(memory_.data() + kFirstPlaceAt, &label, sizeof(label));
    EXPECT_FALSE(reader.take());
    EXPECT_TRUE(reader.is_broken());
  }
}

// Fills the memory with random bytes many times. The reader must stay within its memory and
// terminate.
TEST_F(Queue, NoiseIsSurvived) {
  base::Prng prng(11);
  for (int trial = 0; trial < 2000; ++trial) {
    for (std::byte& each : memory_) each = static_cast<std::byte>(prng.below(256));
    if (trial % 2 == 0) write_word(kHeadAt, static_cast<std::uint32_t>(prng.below(6)));
    QueueReader reader(memory_, shape_);
    int taken = 0;
    while (const auto one = reader.take()) {
      ASSERT_LE(one->datagram.size(), 100U);
      ASSERT_GE(one->datagram.data(), memory_.data());
      ASSERT_LE(one->datagram.data() + one->datagram.size(), memory_.data() + memory_.size());
      ASSERT_LT(one->channel, 3U);
      ASSERT_LE(++taken, 4);
      reader.must_wake_writer();
    }
    QueueWriter writer(memory_, shape_);
    for (int i = 0; i < 10; ++i) writer.push(0, datagram_of(1));
    writer.await_room();
    writer.must_wake_reader();
  }
}

// Two threads share one mapping, so that ThreadSanitizer can check them. Each thread sleeps
// whenever the protocol permits it, so the test would never end after a lost wake-up.
TEST_F(Queue, TwoThreadsPassAllInOrder) {
  constexpr std::uint32_t kDatagrams = 20'000;
  std::atomic<int> reader_bell{0}, writer_bell{0};
  const auto ring = [](std::atomic<int>& bell) {
    bell.fetch_add(1);
    bell.notify_one();
  };
  const auto rest = [](std::atomic<int>& bell) {
    bell.wait(0);
    bell.store(0);
  };
  std::thread producer([&] {
    for (std::uint32_t i = 0; i < kDatagrams; ++i) {
      std::span<std::byte> place = writer_.place();
      while (place.empty()) {
        if (writer_.must_wake_reader()) ring(reader_bell);
        if (writer_.await_room()) rest(writer_bell);
        place = writer_.place();
      }
      std::memcpy(place.data(), &i, sizeof(i));
      ASSERT_TRUE(writer_.push(i % 3, place));
      if (i % 7 == 0 && writer_.must_wake_reader()) ring(reader_bell);
    }
    if (writer_.must_wake_reader()) ring(reader_bell);
  });
  for (std::uint32_t expected = 0; expected < kDatagrams;) {
    const auto taken = reader_.take();
    if (!taken) {
      if (reader_.must_wake_writer()) ring(writer_bell);
      if (reader_.may_sleep()) rest(reader_bell);
      reader_.stay_awake();
      continue;
    }
    std::uint32_t number = 0;
    std::memcpy(&number, taken->datagram.data(), sizeof(number));
    ASSERT_EQ(number, expected);
    ++expected;
    if (expected % 3 == 0 || expected == kDatagrams) {
      if (reader_.must_wake_writer()) ring(writer_bell);
    }
  }
  producer.join();
}

}  // namespace
}  // namespace infold::io
