// SPDX-License-Identifier: Apache-2.0
//
// One packet causes as much as it can: a bundle completes as many chunks as it can hold, and the
// exact sum of each goes up in the largest possible number of parts.
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
  constexpr std::uint32_t kRowsOfPart = 4;
  constexpr std::uint32_t kParts = 1 + (kBinRowsMax + kRowsOfPart - 1) / kRowsOfPart;
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

}  // namespace
}  // namespace infold::core
