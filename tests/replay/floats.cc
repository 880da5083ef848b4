// SPDX-License-Identifier: Apache-2.0
//
// Replays chunks of native floats that are hard to sum (core/exact/exact_testing.h), from 1 to 256
// workers in any order. Both planes must agree, and results must be the oracle's. Several chunks of
// different types and lengths follow one another in a copy, so that what one leaves behind would
// show in the next.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/exact/exact_testing.h"
#include "core/packet/packet.h"
#include "study/oracle/oracle.h"
#include "tests/replay/replay.h"

namespace infold::replay {
namespace {

using core::DataType;

constexpr std::array<DataType, 3> kTypes = {DataType::f32, DataType::f16, DataType::bf16};
constexpr std::array<std::uint16_t, 12> kWorkers = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 255, 256};

core::AggregatorOptions draw_job(base::Prng& prng) {
  core::AggregatorOptions options;
  options.job = 7;
  options.epoch = 3;
  options.slot_count = 1;
  options.datagram_bytes_max = prng.chance(0.8) ? 1472 : INFOLD_XDP_DATAGRAM_BYTES_MAX;
  options.world = kWorkers[prng.below(kWorkers.size())];
  for (std::uint16_t rank = 0; rank < options.world; ++rank) options.workers.push_back({rank, 1});
  return options;
}

// Returns the number of elements of a full packet, or fewer.
std::uint16_t draw_count(core::ElementLayout layout, std::uint32_t datagram_bytes_max,
                         base::Prng& prng) {
  const std::uint32_t most = core::chunk_elements(
      layout, {.datagram_bytes_max = datagram_bytes_max, .elements_max = INFOLD_XDP_ELEMENTS_MAX});
  return static_cast<std::uint16_t>(prng.chance(0.5) ? most : prng.below(most + 1));
}

std::vector<std::byte> contribution(const core::Header& chunk, std::uint16_t rank,
                                    std::span<const std::byte> floats) {
  core::Header header = chunk;
  header.kind = core::Kind::add;
  header.worker = static_cast<std::uint8_t>(rank);
  header.contributors = {1, 1, core::rank_digest(rank)};
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + floats.size());
  core::write_header(header, datagram);
  std::copy(floats.begin(), floats.end(), datagram.begin() + INFOLD_HEADER_BYTES);
  return datagram;
}

std::string compare(const SideBySide& both, const oracle::Request& request) {
  std::vector<std::byte> expected(request.elements * infold::element_bytes(request.layout.dtype));
  oracle::expected_result(request, expected);
  if (both.sent().size() != 1) return "no result";
  const std::span<const std::byte> body =
      std::span(both.sent().front().datagram).subspan(INFOLD_HEADER_BYTES);
  if (std::ranges::equal(body, expected)) return "";
  const auto at = std::ranges::mismatch(body, expected).in1 - body.begin();
  return "both planes differ from the oracle at byte " + std::to_string(at);
}

std::string sum_chunk(SideBySide& both, const core::AggregatorOptions& job, std::uint32_t round,
                      base::Prng& prng) {
  const core::ElementLayout layout = {core::WireFormat::native, kTypes[prng.below(3)]};
  const auto draw = static_cast<core::ExactDraw>(prng.below(core::kExactDraws));
  const bool averages = prng.chance(0.5);
  core::Header header;
  header.job = job.job;
  header.epoch = job.epoch;
  header.round = round;
  header.signature.elements = draw_count(layout, job.datagram_bytes_max, prng);
  header.signature.format = static_cast<std::uint8_t>(static_cast<unsigned>(layout.dtype) << 4 |
                                                      static_cast<unsigned>(layout.format));
  header.signature.operation = averages ? INFOLD_REDUCTION_AVERAGE : INFOLD_REDUCTION_SUM;
  const auto floats =
      core::draw_contributions(layout.dtype, draw, job.world, header.signature.elements, prng);
  std::vector<std::uint16_t> order(job.world);
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[prng.below(left)]);
  }
  oracle::Request request;
  request.layout = layout;
  request.reduction = averages ? core::Reduction::average : core::Reduction::sum;
  request.elements = header.signature.elements;
  for (const auto& each : floats) request.inputs.push_back(each.data());
  for (const std::uint16_t rank : order) {
    both.deliver(contribution(header, rank, floats[rank]));
    if (!both.difference().empty()) return both.difference();
  }
  return compare(both, request);
}

}  // namespace

std::string replay_floats(std::uint64_t seed, conformance::XdpPlane& plane,
                          ReplayCounters& counters) {
  base::Prng prng(seed);
  SideBySide both(plane, counters);
  const core::AggregatorOptions job = draw_job(prng);
  both.add(job);
  for (std::uint32_t round = 1; round <= 5; ++round) {
    const std::string difference = sum_chunk(both, job, round, prng);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace infold::replay
