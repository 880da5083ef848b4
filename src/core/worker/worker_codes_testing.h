// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of transfers with agreed exponents: ranks, aggregators and the packets between
// them, and tensors whose sums reveal a missing exponent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core::testing {

inline std::uint16_t agreed_code(std::uint64_t block) {
  return static_cast<std::uint16_t>(1 + block % 100);
}

// A code is two bytes in memory and two elements on the wire, as in the real codec of ranks.
inline bool encode_codes(const void*, const std::byte* tensor, ChunkRange range,
                         const std::uint16_t*, std::byte*, std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; i += 2) {
    std::int16_t pair[2] = {};
    std::memcpy(&pair[0], tensor + range.first + i, sizeof(pair[0]));
    std::memcpy(elements + i * sizeof(pair[0]), pair, sizeof(pair));
  }
  return false;
}

inline void decode_codes(void*, std::byte* tensor, ChunkRange range,
                         const TensorCodec::Received& received) {
  for (std::uint32_t i = 0; i < range.elements; i += 2) {
    std::memcpy(tensor + range.first + i, received.elements + i * std::size_t{2}, 2);
  }
}

// Multiplies integers by their block's code, so that the sum reveals a code that has not arrived.
template <std::uint32_t kBlockElements>
bool encode_scaled(const void*, const std::byte* tensor, ChunkRange range,
                   const std::uint16_t* codes, std::byte*, std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor + (range.first + i) * sizeof(value), sizeof(value));
    value *= codes == nullptr ? 1 : codes[i / kBlockElements];
    std::memcpy(elements + i * sizeof(value), &value, sizeof(value));
  }
  return false;
}

inline void decode_scaled(void*, std::byte* tensor, ChunkRange range,
                          const TensorCodec::Received& received) {
  std::memcpy(tensor + range.first * 4, received.elements, range.elements * std::size_t{4});
}

inline constexpr TensorCodec kCodes = {1, encode_codes, decode_codes};
inline constexpr TensorCodec kScaled = {4, encode_scaled<32>, decode_scaled};
inline constexpr TensorCodec kScaledWide = {4, encode_scaled<64>, decode_scaled};

// One rank's tensors and requests for a sum.
struct Tensor {
  Tensor(DataType dtype, std::uint64_t blocks, std::uint32_t rank, std::uint32_t world)
      : layout{WireFormat::i32, dtype},
        own_codes(blocks),
        codes(blocks),
        values(blocks * layout.block_elements()) {
    for (std::uint64_t block = 0; block < blocks; ++block) {
      own_codes[block] = block % world == rank ? agreed_code(block) : std::uint16_t{1};
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(i, rank);
  }

  static std::int32_t value_of(std::size_t i, std::uint32_t rank) {
    return static_cast<std::int32_t>(i % 1000 + rank);
  }

  TransferRequest agreement() {
    TransferRequest request;
    request.reduction = Reduction::max;
    request.layout = {WireFormat::i16, layout.dtype};
    request.elements = codes.size() * 2;
    request.codec = &kCodes;
    request.input = reinterpret_cast<const std::byte*>(own_codes.data());
    request.output = reinterpret_cast<std::byte*>(codes.data());
    return request;
  }

  TransferRequest data(TransferId after) {
    TransferRequest request;
    request.layout = layout;
    request.elements = values.size();
    request.codec = layout.block_elements() == 64 ? &kScaledWide : &kScaled;
    request.input = reinterpret_cast<const std::byte*>(values.data());
    request.output = reinterpret_cast<std::byte*>(values.data());
    request.codes = codes.data();
    request.after = after;
    return request;
  }

  void expect_sum(std::uint32_t world) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int32_t sum = 0;
      for (std::uint32_t rank = 0; rank < world; ++rank) sum += value_of(i, rank);
      ASSERT_EQ(values[i], sum * agreed_code(i / layout.block_elements())) << "element " << i;
    }
  }

  ElementLayout layout;
  std::vector<std::uint16_t> own_codes, codes;
  std::vector<std::int32_t> values;
};

struct JobOptions {
  std::uint16_t world = 1;
  std::vector<std::uint16_t> weights = {1};  // one for each site
  std::uint32_t elements_max = 32;           // a chunk of data has one block, a chunk of codes 16
  std::uint16_t small_slots = 4;
  std::uint16_t bulk_slots = 60;
};

// Ranks and aggregators, and all packets that are in flight between them.
class Job {
 public:
  enum class Content : std::uint8_t { codes, data, other };
  struct Parcel {
    bool goes_up = false;
    std::uint16_t rank = 0;
    std::uint8_t site = 0;
    Content content = Content::other;
    std::vector<std::byte> bytes;
  };

  explicit Job(const JobOptions& options) {
    AggregatorOptions aggregator;
    for (std::uint16_t rank = 0; rank < options.world; ++rank) {
      WorkerOptions worker;
      worker.rank = rank;
      worker.world = options.world;
      worker.limits.datagram_bytes_max = 1472;
      worker.limits.elements_max = options.elements_max;
      for (const std::uint16_t weight : options.weights) {
        worker.sites.push_back(
            {.worker = static_cast<std::uint8_t>(rank), .weight = weight, .epoch = 7});
      }
      worker.small_slots = options.small_slots;
      worker.bulk_slots = options.bulk_slots;
      worker.seed = rank;
      workers.emplace_back(worker);
      aggregator.workers.push_back({rank, 1});
    }
    aggregator.epoch = 7;
    aggregator.slot_count = static_cast<std::uint16_t>(options.small_slots + options.bulk_slots);
    aggregator.world = options.world;
    aggregator.datagram_bytes_max = 1472;
    for (std::size_t site = 0; site < options.weights.size(); ++site) {
      aggregators.emplace_back(aggregator);
    }
  }

  // Submits both transfers at the first rank.
  void submit(Tensor& tensor) {
    const auto agreement = workers[0].submit(now, tensor.agreement());
    ASSERT_TRUE(agreement && workers[0].submit(now, tensor.data(*agreement)));
  }

  // Returns how many packets of data were sent.
  std::size_t send() {
    std::size_t of_data = 0;
    std::vector<std::byte> out(1472);
    for (std::uint16_t rank = 0; rank < workers.size(); ++rank) {
      while (const auto sent = workers[rank].poll_transmit(now, out)) {
        const std::span bytes = std::span(out).first(sent->bytes);
        const Content content = content_of(bytes);
        if (content == Content::data) ++of_data;
        wire.push_back({true, rank, sent->site, content, {bytes.begin(), bytes.end()}});
      }
    }
    return of_data;
  }

  // Delivers a packet and takes it off the wire, unless it will arrive again.
  void deliver(std::size_t index, bool repeats = false) {
    const Parcel parcel = wire[index];
    if (!repeats) wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(index));
    if (!parcel.goes_up) {
      workers[parcel.rank].handle_datagram(now, parcel.site, parcel.bytes);
      return;
    }
    Aggregator& aggregator = aggregators[parcel.site];
    aggregator.handle_datagram(parcel.bytes);
    while (const auto answer = aggregator.poll_transmit()) {
      for (std::uint16_t rank = 0; rank < workers.size(); ++rank) {
        if (answer->to == Aggregator::To::worker && answer->worker != rank) continue;
        const std::span datagram = answer->datagram_for(rank);
        const std::vector<std::byte> bytes(datagram.begin(), datagram.end());
        wire.push_back({false, rank, parcel.site, content_of(bytes), bytes});
      }
    }
  }

  // Delivers the nth of the packets in flight that have this content.
  void deliver_nth(Content content, std::size_t nth) {
    for (std::size_t i = 0; i < wire.size(); ++i) {
      if (wire[i].content == content && nth-- == 0) return deliver(i);
    }
    FAIL() << "nothing such is on its way";
  }

  void deliver_all_that_goes_up() {
    for (std::size_t i = 0; i < wire.size();) {
      if (wire[i].goes_up) {
        deliver(i);
      } else {
        ++i;
      }
    }
  }

  // Sends and delivers until nothing is in flight. Returns how many packets of data were sent.
  std::size_t send_rest() {
    std::size_t of_data = send();
    while (!wire.empty()) {
      deliver(0);
      of_data += send();
    }
    return of_data;
  }

  std::vector<Worker> workers;
  std::vector<Aggregator> aggregators;
  std::vector<Parcel> wire;
  base::Instant now;

 private:
  static Content content_of(std::span<const std::byte> bytes) {
    Packet packet;
    EXPECT_EQ(parse(bytes, packet), Malformed::none);
    const Header& header = packet.header;
    const bool has_elements = header.kind == Kind::add || header.kind == Kind::result;
    if (!has_elements || header.signature.elements == 0) return Content::other;
    return header.signature.reduction() == Reduction::max ? Content::codes : Content::data;
  }
};

}  // namespace infold::core::testing
