// SPDX-License-Identifier: Apache-2.0
//
// Sends bad input systematically: every length, every byte, repeats, strangers, absurd values. It
// must not change a sum, take memory or stop the process, and each packet is counted by its reason.
#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>

#include "core/worker/worker.h"
#include "tests/hostile/allocations.h"
#include "tests/hostile/datagrams.h"

namespace infold::hostile {
namespace {

using core::Aggregator;
using core::Verdict;

bool is_drop(Verdict verdict) { return verdict >= Verdict::dropped_malformed; }

std::uint64_t count_of(const Aggregator& aggregator, Verdict verdict) {
  return aggregator.counters()[static_cast<std::size_t>(verdict)];
}

std::vector<std::int32_t> numbers() {
  std::vector<std::int32_t> numbers(kElements);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

// An aggregator with one contribution in slot 0, which no hostile packet may change.
Aggregator half_full(bool parent = false) {
  Aggregator aggregator(aggregator_options(parent));
  aggregator.handle_datagram(add_datagram(0, 0, 1, numbers()));
  return aggregator;
}

// Handles the packet, and checks that it was dropped and counted, and changed nothing.
void expect_drop(Aggregator& aggregator, std::span<const std::byte> datagram, Verdict reason) {
  const std::uint64_t before = aggregator.digest();
  const std::uint64_t counted = count_of(aggregator, reason);
  const std::uint64_t allocated = allocation_count();
  const Verdict verdict = aggregator.handle_datagram(datagram);
  EXPECT_EQ(allocation_count(), allocated);
  EXPECT_EQ(verdict, reason) << core::verdict_name(verdict);
  EXPECT_EQ(count_of(aggregator, reason), counted + 1);
  EXPECT_EQ(aggregator.digest(), before);
  EXPECT_FALSE(aggregator.poll_transmit());
}

TEST(BadInput, TruncatedAtEveryLength) {
  for (const bool parent : {false, true}) {
    Aggregator aggregator = half_full(parent);
    for (const auto& samples : {samples_to_aggregator(), samples_from_aggregator()}) {
      for (const Datagram& datagram : samples) {
        core::Packet packet;
        ASSERT_EQ(core::parse(datagram, packet), core::Malformed::none);
        for (std::size_t length = 0; length < datagram.size(); ++length) {
          const std::span<const std::byte> cut(datagram.data(), length);
          // A list of ranges stays valid when whole ranges are missing.
          if (core::parse(cut, packet) == core::Malformed::none) {
            ASSERT_EQ(packet.header.kind, core::Kind::pending);
            continue;
          }
          expect_drop(aggregator, cut, Verdict::dropped_malformed);
        }
      }
    }
  }
}

TEST(BadInput, OversizedByAnyNumberOfBytes) {
  Aggregator aggregator = half_full();
  for (const Datagram& sample : samples_to_aggregator()) {
    for (const std::size_t extra : {1, 2, 3, 4, 8, 16, 1000, 60000}) {
      Datagram datagram = sample;
      datagram.resize(sample.size() + extra);
      expect_drop(aggregator, datagram, Verdict::dropped_malformed);
    }
  }
}

TEST(BadInput, EveryByteOfAValidHeaderFlipped) {
  const Datagram honest = add_datagram(1, 0, 1, numbers());
  std::uint32_t taken = 0;
  for (std::size_t at = 0; at < INFOLD_HEADER_BYTES; ++at) {
    for (unsigned mask = 1; mask < 256; ++mask) {
      Aggregator aggregator = half_full();
      Datagram datagram = honest;
      datagram[at] ^= static_cast<std::byte>(mask);
      const std::uint64_t before = aggregator.digest();
      const std::uint64_t allocated = allocation_count();
      const Verdict verdict = aggregator.handle_datagram(datagram);
      EXPECT_EQ(allocation_count(), allocated);
      if (is_drop(verdict)) {
        EXPECT_EQ(aggregator.digest(), before);
        EXPECT_FALSE(aggregator.poll_transmit());
      } else {
        ++taken;  // another worker, slot or signature: all of them valid packets
      }
    }
  }
  // Magic, version, job and epoch are 8 bytes in which every flip drops the packet.
  EXPECT_LT(taken, (INFOLD_HEADER_BYTES - 8U) * 255U);
}

TEST(BadInput, ReplaysNeverCountTwice) {
  Aggregator aggregator(aggregator_options());
  std::vector<Datagram> heard;
  for (std::uint32_t round = 1; round <= 4; ++round) {
    for (std::uint8_t worker = 0; worker < kWorkers; ++worker) {
      heard.push_back(add_datagram(worker, 0, round, numbers()));
      aggregator.handle_datagram(heard.back());
      while (const auto sent = aggregator.poll_transmit()) {
        if (sent->to != Aggregator::To::all_workers) continue;
        std::int32_t first = 0;
        std::memcpy(&first, sent->datagram.data() + INFOLD_HEADER_BYTES, sizeof first);
        EXPECT_EQ(first, kWorkers * 1);
      }
      const std::uint64_t before = aggregator.digest();
      for (const Datagram& datagram : heard) aggregator.handle_datagram(datagram);
      EXPECT_EQ(aggregator.digest(), before);
    }
  }
  EXPECT_EQ(count_of(aggregator, Verdict::completed), 4U);
  EXPECT_EQ(count_of(aggregator, Verdict::contributed), 4U * (kWorkers - 1));
}

TEST(BadInput, StrangersAreCountedByReason) {
  Aggregator aggregator = half_full();
  const auto changed = [](std::size_t at, std::uint8_t value) {
    Datagram datagram = add_datagram(1, 0, 1, numbers());
    datagram[at] = static_cast<std::byte>(value);
    return datagram;
  };
  expect_drop(aggregator, changed(0, 0), Verdict::dropped_malformed);
  expect_drop(aggregator, changed(1, 0x21), Verdict::dropped_malformed);
  expect_drop(aggregator, changed(5, kJob + 1), Verdict::dropped_foreign_job);
  expect_drop(aggregator, changed(11, kEpoch + 1), Verdict::dropped_stale_epoch);
  expect_drop(aggregator, changed(3, kWorkers), Verdict::dropped_bad_worker);
  expect_drop(aggregator, changed(7, kSlots), Verdict::dropped_bad_slot);
  expect_drop(aggregator, changed(15, 0), Verdict::dropped_stale_round);
  expect_drop(aggregator, changed(15, 9), Verdict::dropped_early_round);
}

TEST(BadInput, AbsurdDatagrams) {
  Aggregator aggregator = half_full();
  expect_drop(aggregator, {}, Verdict::dropped_malformed);
  for (const unsigned fill : {0x00U, 0xFFU, 0xF1U}) {
    for (const std::size_t size : {1, 31, 32, 33, 1472, 65507}) {
      expect_drop(aggregator, Datagram(size, static_cast<std::byte>(fill)),
                  Verdict::dropped_malformed);
    }
  }
}

// Sends the same to a worker, whose honest call in flight survives all of it.
class BadInputToWorker : public testing::Test {
 protected:
  BadInputToWorker() : worker_(options()) {
    core::TransferRequest request;
    request.collective = core::Collective::barrier;
    request.layout = {core::WireFormat::i32, core::DataType::i32};
    EXPECT_TRUE(worker_.submit({}, request));
    std::array<std::byte, 1472> out;
    while (worker_.poll_transmit({}, out)) {
    }
  }

  static core::WorkerOptions options() {
    core::WorkerOptions options;
    options.world = kWorkers;
    options.limits.datagram_bytes_max = 1472;
    options.sites = {{.job = kJob, .epoch = kEpoch}};
    return options;
  }

  void expect_no_effect(std::uint8_t site, std::span<const std::byte> datagram) {
    const std::uint64_t before = worker_.digest();
    const std::uint64_t allocated = allocation_count();
    worker_.handle_datagram({}, site, datagram);
    EXPECT_EQ(allocation_count(), allocated);
    EXPECT_EQ(worker_.digest(), before);
    std::array<std::byte, 1472> out;
    EXPECT_FALSE(worker_.poll_transmit({}, out));
    EXPECT_FALSE(worker_.poll_event());
  }

  core::Worker worker_;
};

TEST_F(BadInputToWorker, TruncatedOversizedForeignOrTheWrongWay) {
  for (const Datagram& sample : samples_from_aggregator()) {
    for (std::size_t length = 0; length < sample.size(); ++length) {
      expect_no_effect(0, {sample.data(), length});
    }
    Datagram longer = sample;
    longer.resize(sample.size() + 4096);
    expect_no_effect(0, longer);
    Datagram foreign = sample;
    foreign[5] ^= std::byte{1};
    expect_no_effect(0, foreign);
    foreign = sample;
    foreign[11] ^= std::byte{1};
    expect_no_effect(0, foreign);
  }
  for (const Datagram& sample : samples_to_aggregator()) expect_no_effect(0, sample);
  EXPECT_GT(worker_.counters().dropped_malformed, 0U);
  EXPECT_GT(worker_.counters().dropped_foreign, 0U);
}

TEST_F(BadInputToWorker, ResultsOfChunksItNeverSent) {
  for (const Datagram& sample : samples_from_aggregator()) {
    if ((sample[1] & std::byte{0xF}) == static_cast<std::byte>(INFOLD_KIND_ABORTED)) continue;
    expect_no_effect(0, sample);
  }
  EXPECT_GT(worker_.counters().dropped_unexpected, 0U);
}

}  // namespace
}  // namespace infold::hostile
