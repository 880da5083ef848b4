// SPDX-License-Identifier: Apache-2.0
//
// A payload that needs no encoding may stay in the tensor. The datagram is the same, and a
// retransmission is in one piece.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/worker/worker.h"

namespace infold::core {
namespace {

using Payload = Worker::Payload;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kElements = 352 + 100;  // a full chunk and a shorter one

bool copy(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*, std::byte*,
          std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, std::size_t{range.elements} * 4);
  return false;
}
void ignore(void*, std::byte*, ChunkRange, const TensorCodec::Received&) {}

constexpr TensorCodec kCopies = {
    .element_bytes = 4, .encode = copy, .decode = ignore, .copies = true};
constexpr TensorCodec kEncodes = {.element_bytes = 4, .encode = copy, .decode = ignore};

struct Sent {
  Bytes datagram;
  std::span<const std::byte> payload;
};

class WorkerPayload : public testing::Test {
 protected:
  WorkerPayload() : tensor_(kElements * 4) {
    for (std::size_t i = 0; i < tensor_.size(); ++i) tensor_[i] = static_cast<std::byte>(i * 7);
  }

  Worker worker_with(const TensorCodec& codec) {
    WorkerOptions options;
    options.limits = {.datagram_bytes_max = 1472};
    options.sites.resize(1);
    Worker worker(options);
    TransferRequest request;
    request.layout = {WireFormat::native, DataType::f32};
    request.codec = &codec;
    request.input = tensor_.data();
    request.output = tensor_.data();
    request.elements = kElements;
    EXPECT_TRUE(worker.submit({}, request).has_value());
    return worker;
  }

  static std::vector<Sent> drain(Worker& worker, base::Instant now, Payload payload) {
    std::vector<Sent> all;
    Bytes out(1472);
    while (const auto sent = worker.poll_transmit(now, out, payload)) {
      Bytes datagram(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(sent->bytes));
      datagram.insert(datagram.end(), sent->payload.begin(), sent->payload.end());
      all.push_back({datagram, sent->payload});
    }
    return all;
  }

  Bytes tensor_;
};

TEST_F(WorkerPayload, InTheInputTheDatagramIsTheSame) {
  Worker copying = worker_with(kCopies);
  Worker referring = worker_with(kCopies);
  const std::vector<Sent> whole = drain(copying, {}, Payload::in_out);
  const std::vector<Sent> apart = drain(referring, {}, Payload::in_input);
  ASSERT_EQ(whole.size(), 2U);
  ASSERT_EQ(apart.size(), 2U);
  const std::byte* expected = tensor_.data();
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(apart[i].datagram, whole[i].datagram);
    EXPECT_TRUE(whole[i].payload.empty());
    EXPECT_EQ(apart[i].payload.data(), expected);
    expected += apart[i].payload.size();
  }
  EXPECT_EQ(expected, tensor_.data() + tensor_.size());
}

TEST_F(WorkerPayload, WhatIsEncodedIsInOnePiece) {
  Worker worker = worker_with(kEncodes);
  for (const Sent& sent : drain(worker, {}, Payload::in_input)) EXPECT_TRUE(sent.payload.empty());
}

// At the first timeout the worker sends a query, and at the second it repeats the contribution.
TEST_F(WorkerPayload, ARepeatIsInOnePiece) {
  Worker worker = worker_with(kCopies);
  const std::vector<Sent> first = drain(worker, {}, Payload::in_input);
  std::size_t repeats = 0;
  for (int i = 0; i < 4; ++i) {
    const base::Instant due = worker.poll_timeout().value();
    worker.handle_timeout(due);
    for (const Sent& sent : drain(worker, due, Payload::in_input)) {
      EXPECT_TRUE(sent.payload.empty());
      const bool is_first = std::ranges::any_of(
          first, [&](const Sent& each) { return each.datagram == sent.datagram; });
      repeats += is_first ? 1 : 0;
    }
  }
  EXPECT_GT(repeats, 0U);
  EXPECT_EQ(worker.counters().resent, repeats);
}

}  // namespace
}  // namespace infold::core
