// SPDX-License-Identifier: Apache-2.0
//
// For tests of transfers with agreed exponents: ranks, aggregators and what is on its way between
// them, and tensors in whose sums a missing exponent shows.
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

// A code is two bytes in memory and two elements on the wire, as the ranks' real one.
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

// Integers times their block's code: a code that is not there yet shows in the sum.
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

// One rank's part of a sum.
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
  std::vector<std::uint16_t> weights = {1};  // a site each
  std::uint32_t elements_max = 32;  // a block to a chunk of data, 16 blocks to one of codes
  std::uint16_t small_slots = 4;
  std::uint16_t bulk_slots = 60;
};

// Ranks and aggregators, and all that is on its way between them.
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

  // At the first rank.
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

  // Takes it off the wire, unless it is to come once more.
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

  // The nth of what is on its way with such content.
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

  // Returns the same when all has arrived.
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
