// SPDX-License-Identifier: Apache-2.0
//
// Exact sums that go up in many parts. One packet causes as much as it can: a bundle completes as
// many chunks as it can hold, and each sum has the largest possible number of parts. A question
// through several levels causes as little as it can.
#include <array>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/packet/sparse_body.h"

namespace infold::core {
namespace {

constexpr std::uint16_t kWorkers = 3;
// A part of one f64 has room for four rows.
constexpr std::uint32_t kRowsOfPart = 4;
constexpr std::uint32_t kParts = 1 + (kBinRowsMax + kRowsOfPart - 1) / kRowsOfPart;
static_assert(kParts == 18);

// Returns a bundle that contributes one element to each of its chunks.
std::vector<std::byte> bundle(std::uint8_t worker, double value) {
  Header header;
  header.kind = Kind::add;
  header.flags = INFOLD_FLAG_SPARSE;
  header.worker = worker;
  header.round = 1;
  header.signature.elements = 1;
  header.signature.format = INFOLD_DTYPE_F64 << 4 | INFOLD_FORMAT_NATIVE;
  header.contributors = {1, 1, rank_digest(worker)};
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES +
                                  sparse_head_bytes(INFOLD_SPARSE_CHUNKS_MAX, 1) +
                                  INFOLD_SPARSE_CHUNKS_MAX * sizeof(value));
  write_header(header, datagram);
  SparseWriter writer(datagram.data() + INFOLD_HEADER_BYTES, header.signature.layout(), 1,
                      INFOLD_SPARSE_CHUNKS_MAX);
  for (int chunk = 0; chunk < INFOLD_SPARSE_CHUNKS_MAX; ++chunk) {
    std::memcpy(writer.next(BlockSet::all(1)).elements, &value, sizeof(value));
  }
  return datagram;
}

TEST(AggregatorExact, EachChunkOfABundleSendsAllItsParts) {
  AggregatorOptions options;
  options.slot_count = INFOLD_SPARSE_CHUNKS_MAX;
  options.world = kWorkers + 1;
  for (std::uint16_t rank = 0; rank < kWorkers; ++rank) options.workers.push_back({rank, 1});
  options.parent_worker = 0;
  options.datagram_bytes_max = INFOLD_HEADER_BYTES + exact_body_bytes(DataType::f64, 1, 1);
  Aggregator aggregator(options);
  // The sum has bits in the first row and in the last.
  aggregator.handle_datagram(bundle(0, 0x1p1023));
  aggregator.handle_datagram(bundle(1, 1));
  EXPECT_EQ(aggregator.handle_datagram(bundle(2, 0x1p-1074)), Verdict::completed);
  std::set<std::pair<std::uint16_t, std::uint32_t>> sent;
  while (const auto out = aggregator.poll_transmit()) {
    Packet packet;
    ASSERT_EQ(parse(out->datagram, packet), Malformed::none);
    const ExactBody body = read_exact(packet);
    EXPECT_EQ(body.parts, kParts);
    sent.insert({packet.header.slot, body.part});
  }
  EXPECT_EQ(sent.size(), INFOLD_SPARSE_CHUNKS_MAX * kParts);
}

std::vector<std::byte> packet_of(Kind kind, std::uint8_t worker, std::uint16_t rank, double value) {
  Header header;
  header.kind = kind;
  header.worker = worker;
  header.round = 1;
  header.signature.elements = 1;
  header.signature.format = INFOLD_DTYPE_F64 << 4 | INFOLD_FORMAT_NATIVE;
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES);
  if (kind == Kind::add) {
    header.contributors = {1, 1, rank_digest(rank)};
    datagram.resize(INFOLD_HEADER_BYTES + sizeof(value));
    std::memcpy(datagram.data() + INFOLD_HEADER_BYTES, &value, sizeof(value));
  }
  write_header(header, datagram);
  return datagram;
}

// A root with rank 3 and a child, which is a chain of two aggregators above ranks 0 to 2. Datagrams
// have room for one element. Packets take no time, and the test says which of them are lost.
class Chain {
 public:
  enum Level : std::uint8_t { root, spine, leaf, level_count };

  Chain() {
    AggregatorOptions options;
    options.world = 4;
    options.datagram_bytes_max = INFOLD_HEADER_BYTES + exact_body_bytes(DataType::f64, 1, 1);
    options.check_period = 1;
    options.add_aggregator({0, 3});
    options.workers.push_back({3, 1});
    levels_.emplace_back(options);
    options.workers.pop_back();
    options.parent_worker = 0;
    levels_.emplace_back(options);
    options.workers = {{0, 1}, {1, 1}, {2, 1}};
    levels_.emplace_back(options);
  }

  // Gives a packet to an aggregator, and everything that follows to the others.
  template <typename Lost>
  void send(Level to, std::span<const std::byte> datagram, Lost&& is_lost) {
    levels_[to].handle_datagram(datagram);
    std::vector<Aggregator::Transmit> sent;
    std::vector<std::vector<std::byte>> bytes;
    while (const auto out = levels_[to].poll_transmit()) {
      sent.push_back(*out);
      bytes.emplace_back(out->datagram.begin(), out->datagram.end());
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].to == Aggregator::To::parent) {
        ++up[to];
        if (!is_lost(to, i)) send(static_cast<Level>(to - 1), bytes[i], is_lost);
      } else {
        ++down[to];
        if (to != leaf && sent[i].worker == 0) send(static_cast<Level>(to + 1), bytes[i], is_lost);
      }
    }
  }
  void send(Level to, std::span<const std::byte> datagram) {
    send(to, datagram, [](Level, std::size_t) { return false; });
  }

  // The three lower ranks contribute bits in the first row and in the last.
  template <typename Lost>
  void contribute(Lost&& is_lost) {
    send(leaf, packet_of(Kind::add, 0, 0, 0x1p1023), is_lost);
    send(leaf, packet_of(Kind::add, 1, 1, 1), is_lost);
    send(leaf, packet_of(Kind::add, 2, 2, 0x1p-1074), is_lost);
  }

  std::uint64_t count(Level level, Verdict verdict) const {
    return levels_[level].counters()[static_cast<std::size_t>(verdict)];
  }

  std::array<std::uint32_t, level_count> up{};    // packets that each level sent to its parent
  std::array<std::uint32_t, level_count> down{};  // and to workers, or to all of them at once

 private:
  std::vector<Aggregator> levels_;
};

using Counts = std::array<std::uint32_t, Chain::level_count>;

// In the past each part was answered with all parts of the next level, so that this question sent
// 324 packets to the root, and the root answered each of them.
TEST(AggregatorExact, AQuestionCostsEachLevelItsPartsOnce) {
  Chain chain;
  chain.contribute([](Chain::Level, std::size_t) { return false; });
  EXPECT_EQ(chain.up, (Counts{0, kParts, kParts}));
  EXPECT_EQ(chain.down, Counts{});
  for (std::uint32_t question = 1; question <= 40; ++question) {
    chain.send(Chain::leaf, packet_of(Kind::query, 1, 1, 0));
    EXPECT_EQ(chain.up, (Counts{0, (1 + question) * kParts, (1 + question) * kParts}));
    EXPECT_EQ(chain.down, (Counts{question, question, question}));
  }
  EXPECT_EQ(chain.count(Chain::root, Verdict::answered_pending), 40U);
  EXPECT_EQ(chain.count(Chain::root, Verdict::dropped_part), 40U * (kParts - 1));
  EXPECT_EQ(chain.count(Chain::spine, Verdict::dropped_part), 40U * (kParts - 1));
  chain.send(Chain::root, packet_of(Kind::add, 1, 3, 1));
  EXPECT_EQ(chain.count(Chain::leaf, Verdict::delivered), 1U);
}

// The ranks of one leaf ask at about the same time. They share the parts that go up, and each of
// them gets one answer. When the packets are lost, the first rank that asks again sends them again.
TEST(AggregatorExact, RanksThatAskTogetherShareTheParts) {
  Chain chain;
  const auto none = [](Chain::Level, std::size_t) { return false; };
  const auto all = [](Chain::Level, std::size_t) { return true; };
  const auto query = [](std::uint8_t worker) { return packet_of(Kind::query, worker, worker, 0); };
  chain.contribute(none);
  for (std::uint8_t worker = 0; worker < 3; ++worker) chain.send(Chain::leaf, query(worker), all);
  EXPECT_EQ(chain.up, (Counts{0, kParts, 2 * kParts}));
  EXPECT_EQ(chain.count(Chain::leaf, Verdict::dropped_repeat), 2U);
  chain.send(Chain::leaf, query(1), all);
  chain.send(Chain::leaf, query(2), all);
  EXPECT_EQ(chain.up, (Counts{0, kParts, 3 * kParts}));
  EXPECT_EQ(chain.down, Counts{});
  chain.send(Chain::leaf, query(2), none);
  EXPECT_EQ(chain.up, (Counts{0, 2 * kParts, 4 * kParts}));
  EXPECT_EQ(chain.down, (Counts{1, 1, 3}));
  // That was answered, so the next question is a new one, whoever asks.
  chain.send(Chain::leaf, query(0), none);
  EXPECT_EQ(chain.up, (Counts{0, 3 * kParts, 5 * kParts}));
  EXPECT_EQ(chain.down, (Counts{2, 2, 4}));
}

// A queue above each aggregator holds few of the parts that come at once. The questions of one rank
// must get all of them through, and later an answer.
TEST(AggregatorExact, PartsGetThroughShortQueues) {
  for (const std::size_t room : {1U, 2U, 5U, 17U}) {
    Chain chain;
    const auto is_lost = [room](Chain::Level, std::size_t place) { return place >= room; };
    chain.contribute(is_lost);
    std::uint32_t questions = 0;
    while (chain.count(Chain::spine, Verdict::completed) == 0 && ++questions < 1'000) {
      chain.send(Chain::leaf, packet_of(Kind::query, 1, 1, 0), is_lost);
    }
    EXPECT_LE(questions, 2 * (kParts - room)) << room;
    questions = 0;
    while (chain.count(Chain::root, Verdict::answered_pending) == 0 && ++questions < 1'000) {
      chain.send(Chain::leaf, packet_of(Kind::query, 1, 1, 0), is_lost);
    }
    EXPECT_LE(questions, 4 * (kParts - room) + 16) << room;
    chain.send(Chain::root, packet_of(Kind::add, 1, 3, 1), is_lost);
    EXPECT_EQ(chain.count(Chain::leaf, Verdict::delivered), 1U) << room;
  }
}

}  // namespace
}  // namespace infold::core
