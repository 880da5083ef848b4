// SPDX-License-Identifier: Apache-2.0
//
// Enumerates the aggregator's transition table: every state of a copy against every packet that can
// meet it. The vectors check the sums (spec/vectors).
#include "core/aggregator/aggregator.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/site_record.h"

namespace infold::core {
namespace {

constexpr std::uint32_t kElements = 16;
constexpr std::uint16_t kWorkers = 3;
constexpr std::uint32_t kRound = 5;

Header header_of(Kind kind, std::uint8_t worker, std::uint32_t round) {
  Header header;
  header.kind = kind;
  header.worker = worker;
  header.epoch = 9;
  header.round = round;
  header.signature.elements = kElements;
  header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
  header.signature.shape = kElements;
  if (kind == Kind::add || kind == Kind::result) header.contributors = {1, 1, rank_digest(worker)};
  return header;
}

std::vector<std::byte> datagram_of(const Header& header) {
  std::vector<std::byte> datagram(
      datagram_bytes(header.kind, header.signature.layout(), header.signature.elements, false));
  write_header(header, datagram);
  return datagram;
}

enum class Start { fresh, collecting, complete, asked };
enum class Above { root, parent };

// Returns an aggregator whose slot 0 has finished rounds 1 to 4. In round 5 it has no contribution,
// only worker 0's, or all of them; with `asked` it has all, and worker 1 has repeated its own.
Aggregator aggregator_at(Start start, Above above) {
  AggregatorOptions options;
  options.epoch = 9;
  options.world = kWorkers;
  for (std::uint16_t rank = 0; rank < kWorkers; ++rank) options.workers.push_back({rank, 1});
  if (above == Above::parent) options.parent_worker = 0;
  Aggregator aggregator(options);
  const auto contribute = [&](std::uint32_t round, std::uint8_t workers) {
    for (std::uint8_t worker = 0; worker < workers; ++worker) {
      aggregator.handle_datagram(datagram_of(header_of(Kind::add, worker, round)));
    }
  };
  for (std::uint32_t round = 1; round < kRound; ++round) {
    contribute(round, kWorkers);
    if (above == Above::root) continue;
    aggregator.handle_datagram(datagram_of(header_of(Kind::result, 0, round)));
  }
  if (start == Start::collecting) contribute(kRound, 1);
  if (start == Start::complete || start == Start::asked) contribute(kRound, kWorkers);
  if (start == Start::asked)
    aggregator.handle_datagram(datagram_of(header_of(Kind::add, 1, kRound)));
  return aggregator;
}

struct Row {
  Start start;
  Above above;
  Kind kind;
  std::uint8_t worker;
  std::uint32_t round;
  Verdict verdict;
  std::size_t sent;  // datagrams
};

constexpr Row kTable[] = {
    // A root that waits for the first contribution to round 5.
    {Start::fresh, Above::root, Kind::add, 0, 5, Verdict::contributed, 0},
    {Start::fresh, Above::root, Kind::skip, 0, 5, Verdict::contributed, 0},
    {Start::fresh, Above::root, Kind::query, 0, 5, Verdict::answered_pending, 1},
    {Start::fresh, Above::root, Kind::add, 0, 4, Verdict::replayed, 1},
    {Start::fresh, Above::root, Kind::query, 0, 4, Verdict::replayed, 1},
    {Start::fresh, Above::root, Kind::add, 0, 3, Verdict::replayed, 1},
    {Start::fresh, Above::root, Kind::add, 0, 2, Verdict::dropped_stale_round, 0},
    {Start::fresh, Above::root, Kind::add, 0, 6, Verdict::dropped_early_round, 0},
    {Start::fresh, Above::root, Kind::add, 0, 7, Verdict::dropped_early_round, 0},
    {Start::fresh, Above::root, Kind::result, 0, 5, Verdict::dropped_wrong_way, 0},
    // Worker 0 has contributed to round 5.
    {Start::collecting, Above::root, Kind::add, 0, 5, Verdict::answered_pending, 1},
    {Start::collecting, Above::root, Kind::query, 1, 5, Verdict::answered_pending, 1},
    {Start::collecting, Above::root, Kind::add, 1, 5, Verdict::contributed, 0},
    {Start::collecting, Above::root, Kind::add, 0, 3, Verdict::dropped_stale_round, 0},
    {Start::collecting, Above::root, Kind::add, 1, 4, Verdict::replayed, 1},
    {Start::collecting, Above::root, Kind::add, 0, 6, Verdict::dropped_early_round, 0},
    {Start::collecting, Above::root, Kind::add, 0, 7, Verdict::dropped_early_round, 0},
    // Round 5 is complete and answered.
    {Start::complete, Above::root, Kind::add, 2, 5, Verdict::replayed, 1},
    {Start::complete, Above::root, Kind::skip, 2, 5, Verdict::replayed, 1},
    {Start::complete, Above::root, Kind::query, 2, 5, Verdict::replayed, 1},
    {Start::complete, Above::root, Kind::add, 2, 4, Verdict::replayed, 1},
    {Start::complete, Above::root, Kind::add, 2, 3, Verdict::dropped_stale_round, 0},
    {Start::complete, Above::root, Kind::add, 2, 6, Verdict::contributed, 0},
    {Start::complete, Above::root, Kind::add, 2, 7, Verdict::dropped_early_round, 0},
    // Below a parent, complete means forwarded until the parent answers.
    {Start::fresh, Above::parent, Kind::result, 0, 5, Verdict::dropped_early_round, 0},
    {Start::fresh, Above::parent, Kind::result, 0, 4, Verdict::dropped_repeat, 0},
    {Start::fresh, Above::parent, Kind::add, 1, 4, Verdict::replayed, 1},
    {Start::collecting, Above::parent, Kind::result, 0, 5, Verdict::dropped_repeat, 0},
    {Start::complete, Above::parent, Kind::add, 2, 5, Verdict::forwarded_again, 1},
    {Start::complete, Above::parent, Kind::query, 2, 5, Verdict::forwarded_again, 1},
    {Start::complete, Above::parent, Kind::add, 2, 6, Verdict::dropped_early_round, 0},
    {Start::complete, Above::parent, Kind::add, 2, 7, Verdict::dropped_early_round, 0},
    {Start::complete, Above::parent, Kind::result, 0, 5, Verdict::delivered, 1},
    {Start::complete, Above::parent, Kind::pending, 0, 5, Verdict::dropped_repeat, 0},
    {Start::complete, Above::parent, Kind::result, 0, 3, Verdict::dropped_stale_round, 0},
    {Start::complete, Above::parent, Kind::result, 0, 7, Verdict::dropped_early_round, 0},
    {Start::asked, Above::parent, Kind::add, 1, 5, Verdict::forwarded_again, 1},
    {Start::asked, Above::parent, Kind::result, 0, 5, Verdict::delivered, 1},
    {Start::asked, Above::parent, Kind::pending, 0, 5, Verdict::answered_pending, 1},
    {Start::asked, Above::parent, Kind::pending, 0, 4, Verdict::dropped_repeat, 0},
    {Start::asked, Above::parent, Kind::pending, 0, 7, Verdict::dropped_early_round, 0},
};

TEST(Aggregator, FollowsItsTransitionTable) {
  int row_number = 0;
  for (const Row& row : kTable) {
    SCOPED_TRACE("row " + std::to_string(row_number++));
    Aggregator aggregator = aggregator_at(row.start, row.above);
    while (aggregator.poll_transmit()) {
    }
    const Verdict verdict =
        aggregator.handle_datagram(datagram_of(header_of(row.kind, row.worker, row.round)));
    EXPECT_EQ(verdict_name(verdict), std::string(verdict_name(row.verdict)));
    std::size_t sent = 0;
    while (aggregator.poll_transmit()) ++sent;
    EXPECT_EQ(sent, row.sent);
  }
}

TEST(Aggregator, DroppedPacketsChangeNothing) {
  for (const Row& row : kTable) {
    if (row.verdict < Verdict::dropped_malformed) continue;
    Aggregator aggregator = aggregator_at(row.start, row.above);
    const std::uint64_t before = aggregator.digest();
    aggregator.handle_datagram(datagram_of(header_of(row.kind, row.worker, row.round)));
    EXPECT_EQ(aggregator.digest(), before);
  }
}

TEST(Aggregator, RoundsBeforeTheFirstAreStale) {
  AggregatorOptions options;
  options.epoch = 9;
  options.workers = {{0, 1}};
  Aggregator fresh(options);
  EXPECT_EQ(fresh.handle_datagram(datagram_of(header_of(Kind::add, 0, ~0U))),
            Verdict::dropped_stale_round);
  EXPECT_EQ(fresh.handle_datagram(datagram_of(header_of(Kind::add, 0, 0))),
            Verdict::dropped_stale_round);
  EXPECT_EQ(fresh.handle_datagram(datagram_of(header_of(Kind::add, 0, 1))), Verdict::completed);
}

// more than eight pairs do not fit, and the record must then say that bits may come.
TEST(Aggregator, NamesMissingRanksInTheFormsOfItsRecord) {
  AggregatorOptions options;
  options.epoch = 9;
  options.world = 20;
  for (std::uint16_t rank = 0; rank < 20; rank += 2) options.workers.push_back({rank, 1});
  Aggregator aggregator(options);
  bool sends_ranges = false;
  bool sends_bits = false;
  for (std::uint8_t worker = 0; worker < 3; ++worker) {
    Header header = header_of(Kind::add, worker, 1);
    header.contributors = contributors_of(options.workers[worker]);
    EXPECT_EQ(aggregator.handle_datagram(datagram_of(header_of(Kind::query, worker, 1))),
              Verdict::answered_pending);
    Packet answer;
    ASSERT_EQ(parse(aggregator.poll_transmit()->datagram, answer), Malformed::none);
    const bool has_bits = (answer.header.flags & INFOLD_FLAG_BITS) != 0;
    (has_bits ? sends_bits : sends_ranges) = true;
    ASSERT_EQ(aggregator.handle_datagram(datagram_of(header)), Verdict::contributed);
  }
  EXPECT_EQ(SiteRecord{}.sends_bits, sends_bits);
  EXPECT_EQ(SiteRecord{}.sends_ranges, sends_ranges);
}

TEST(Aggregator, MemoryIsTakenOnce) {
  Aggregator aggregator = aggregator_at(Start::complete, Above::root);
  const std::size_t before = aggregator.memory_bytes();
  for (std::uint32_t round = kRound + 1; round < 1000; ++round) {
    for (std::uint8_t worker = 0; worker < kWorkers; ++worker) {
      aggregator.handle_datagram(datagram_of(header_of(Kind::add, worker, round)));
    }
  }
  EXPECT_EQ(aggregator.memory_bytes(), before);
  EXPECT_EQ(aggregator.counters()[static_cast<std::size_t>(Verdict::completed)], 999U);
}

}  // namespace
}  // namespace infold::core
