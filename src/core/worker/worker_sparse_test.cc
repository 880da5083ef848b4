// SPDX-License-Identifier: Apache-2.0
//
// When thin contributions share a packet, and when they wait to do so.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/packet/sparse_body.h"
#include "core/worker/worker.h"

namespace infold::core {
namespace {

constexpr std::uint32_t kChunkElements = 64;  // two blocks
constexpr ElementLayout kLayout = {WireFormat::bfp32, DataType::f32};

// Encodes numbers of at most 24 bits as mantissas of one unit, and an infinity as its code.
bool encode(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*,
            std::byte* exponents, std::byte* elements) {
  const std::uint32_t blocks = kLayout.block_count(range.elements);
  std::memset(exponents, 0, kLayout.exponent_bytes(range.elements));
  std::memset(exponents, 150, blocks);
  bool specials = false;
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    float value;
    std::memcpy(&value, tensor + (range.first + i) * 4, 4);
    specials |= std::isinf(value);
    const auto mantissa = static_cast<std::int32_t>(std::isinf(value) ? kLayout.code_plus_infinity()
                                                                      : std::int64_t(value));
    std::memcpy(elements + i * std::size_t{4}, &mantissa, 4);
  }
  return specials;
}
void ignore(void*, std::byte*, ChunkRange, const TensorCodec::Received&) {}
constexpr TensorCodec kCodec = {4, encode, ignore};

// One worker and its aggregator, so that each contribution completes its chunk.
class Thin : public testing::Test {
 protected:
  void make(std::uint32_t chunks, std::uint32_t every, std::uint16_t slots = 128,
            std::uint32_t chunk_elements = kChunkElements, std::uint32_t quarters = 4) {
    WorkerOptions options;
    options.limits = {.datagram_bytes_max = 1472, .elements_max = chunk_elements};
    options.sites = {{.epoch = 7, .takes_sparse = true}};
    options.small_slots = 0;
    options.bulk_slots = slots;
    worker_.emplace(options);
    AggregatorOptions aggregator;
    aggregator.epoch = 7;
    aggregator.slot_count = slots;
    aggregator.workers = {{0, 1}};
    aggregator_.emplace(aggregator);

    const std::uint32_t blocks = kLayout.block_count(chunks * chunk_elements);
    values_.assign(std::size_t{chunks} * chunk_elements, 0);
    present_.assign(BlockSet::word_count(blocks), 0);
    for (std::uint32_t block = 0; block < blocks; block += every) {
      present_[block / 32] |= 1U << (block % 32);
      for (std::uint32_t i = 0; i < quarters; ++i) values_[block * std::size_t{32} + i * 8] = 3;
    }
  }
  void submit() {
    TransferRequest request;
    request.layout = kLayout;
    request.elements = values_.size();
    request.codec = &kCodec;
    request.input = reinterpret_cast<const std::byte*>(values_.data());
    request.present = present_.data();
    ASSERT_TRUE(worker_->submit(now_, request).has_value());
  }

  // Sends the next datagram and returns how many chunks it has; 0: there is no datagram.
  std::uint32_t send() {
    std::vector<std::byte> out(1472);
    const auto sent = worker_->poll_transmit(now_, out);
    if (!sent) return 0;
    out.resize(sent->bytes);
    bytes_ += out.size();
    Packet packet;
    EXPECT_EQ(parse(out, packet), Malformed::none);
    aggregator_->handle_datagram(out);
    while (const auto answer = aggregator_->poll_transmit()) {
      answers_.emplace_back(answer->datagram.begin(), answer->datagram.end());
    }
    infold_sparse head = {};
    if (packet.is_sparse()) std::memcpy(&head, packet.body.data(), sizeof(head));
    grain_ = head.grain;
    return packet.is_sparse() ? SparseReader(packet).chunks() : 1;
  }
  void answer(std::size_t count) {
    for (; count > 0; --count) {
      worker_->handle_datagram(now_, 0, answers_.front());
      answers_.erase(answers_.begin());
    }
  }

  base::Instant now_;
  std::optional<Worker> worker_;
  std::optional<Aggregator> aggregator_;
  std::vector<float> values_;
  std::vector<std::uint32_t> present_;
  std::vector<std::vector<std::byte>> answers_;
  std::size_t bytes_ = 0;
  int grain_ = 0;  // the grain of the last datagram
};

TEST_F(Thin, ContributionsShareAPacketUntilItIsFull) {
  make(32, 4);  // a block in every other chunk: on average a set and 66 bytes per chunk
  submit();
  EXPECT_EQ(send(), 20U);
  EXPECT_EQ(send(), 12U) << "the window's rest: others are not to wait for all";
  EXPECT_EQ(send(), 0U);
  EXPECT_EQ(worker_->counters().sent_bundled, 32U);
  answer(32);
  ASSERT_TRUE(worker_->has_event());
  EXPECT_FALSE(worker_->poll_event()->failure.has_value());
}

TEST_F(Thin, ContributionsWaitWhileMoreThanHalfOfTheWindowIsOut) {
  make(200, 8);
  submit();
  EXPECT_EQ(send(), 32U);
  answer(8);
  EXPECT_EQ(send(), 0U) << "24 of 32 are out";
  answer(8);
  EXPECT_EQ(send(), 16U);
}

TEST_F(Thin, WhatIsFullWaitsForNothing) {
  make(64, 1, 128, 352);
  submit();
  while (send() > 0) {
  }
  EXPECT_EQ(worker_->in_flight(), 32U);
  EXPECT_EQ(worker_->counters().sent_bundled, 0U) << "of bundles none would be smaller";
  answer(1);
  EXPECT_EQ(send(), 1U);
}

TEST_F(Thin, OwnBytesFollowOwnBlocks) {
  make(1000, 32, 128, 352);
  submit();
  while (!worker_->has_event()) {
    while (send() > 0) {
    }
    answer(answers_.size());
  }
  const double own = 11'000.0 / 32 * (32 * 4 + 4);  // each block alone in its chunk, padded
  EXPECT_LT(static_cast<double>(bytes_), own * 1.12) << "sets of all chunks, and headers";
}

TEST_F(Thin, ABundleEndsBeforeSpecials) {
  make(10, 1);
  present_.assign(1, 0b0000'0100'0010'0001'0010'0001);
  values_[5 * 32] = HUGE_VALF;
  submit();
  EXPECT_EQ(send(), 2U);
  for (int chunk = 2; chunk < 10; ++chunk) EXPECT_EQ(send(), 1U) << chunk;
  answer(10);
  EXPECT_TRUE(worker_->has_event());
}

// The second round of slots begins at the first slot, and a packet cannot continue there.
TEST_F(Thin, ABundleEndsWithTheLastSlot) {
  make(40, 16, 24);
  submit();
  EXPECT_EQ(send(), 24U);
  answer(20);
  EXPECT_EQ(send(), 16U);
  answer(20);
  EXPECT_TRUE(worker_->has_event());
}

TEST_F(Thin, QuartersFillPacketsAsBlocksDo) {
  make(1000, 4, 128, kChunkElements, 1);  // a quarter in every other chunk: 4 bytes, or 4 + 4 + 32
  submit();
  EXPECT_EQ(send(), 20U) << "as many as would fit if they were blocks";
  EXPECT_EQ(grain_, INFOLD_GRAIN_QUARTERS);
  EXPECT_EQ(send(), 0U) << "the other 12 of the window wait to become more, now that they are thin";
  std::vector<std::uint32_t> bundles;
  while (!worker_->has_event()) {
    while (const std::uint32_t chunks = send()) {
      bundles.push_back(chunks);
      EXPECT_EQ(grain_, INFOLD_GRAIN_QUARTERS);
    }
    answer(answers_.size());
  }
  const double own = 500 * (4 + 32) + 1000 * 4;
  EXPECT_LT(static_cast<double>(bytes_), own * 1.07) << "headers";
  EXPECT_GT(*std::max_element(bundles.begin(), bundles.end()), 30U);
}

TEST_F(Thin, WholeBlocksGoAsTheyAre) {
  make(64, 2);
  submit();
  while (send() > 0) EXPECT_EQ(grain_, INFOLD_GRAIN_BLOCKS);
  for (const auto& each : answers_) {
    Packet packet;
    ASSERT_EQ(parse(each, packet), Malformed::none);
    EXPECT_FALSE(packet.is_sparse());
  }
}

// Each packet chooses the grain that suits its own content, whatever the packet before used.
TEST_F(Thin, TheGrainFollowsWhatIsThere) {
  make(400, 2, 128, kChunkElements, 1);
  for (std::size_t i = values_.size() / 3; i < values_.size() * 2 / 3; ++i) {
    if (values_[i / 32 * 32] != 0) values_[i] = 5;
  }
  submit();
  std::vector<int> grains;
  while (!worker_->has_event()) {
    while (send() > 0) {
      if (grains.empty() || grains.back() != grain_) grains.push_back(grain_);
    }
    answer(answers_.size());
  }
  EXPECT_EQ(grains, (std::vector{1, 0, 1}));
}

// Every block has one nonzero quarter, so no block can be left out, but three of four quarters can.
TEST_F(Thin, AChunkThatGoesAloneLeavesOutQuarters) {
  make(64, 1, 128, 352, 1);
  submit();
  EXPECT_EQ(send(), 1U);
  EXPECT_EQ(grain_, INFOLD_GRAIN_QUARTERS);
  EXPECT_EQ(bytes_, INFOLD_HEADER_BYTES + 4 + 4 + 20 + 11 * 32U);
  EXPECT_GE(send(), 3U) << "by what the first one took";
}

TEST_F(Thin, ABundleInQuartersEndsBeforeSpecials) {
  make(60, 2, 128, kChunkElements, 1);
  values_[40 * std::size_t{kChunkElements}] = HUGE_VALF;
  submit();
  std::uint32_t chunks = 0;
  std::uint32_t packets = 0;
  while (!worker_->has_event()) {
    while (const std::uint32_t more = send()) {
      chunks += more;
      ++packets;
    }
    answer(answers_.size());
  }
  EXPECT_EQ(chunks, 60U);
  EXPECT_LE(packets, 6U);
}

}  // namespace
}  // namespace infold::core
