// SPDX-License-Identifier: Apache-2.0
//
// Replays PENDING in jobs whose sizes are around those at which the packet program changes
// its way to count. Workers come in any order. After each of them, some worker asks or repeats its
// contribution. Below a parent, some workers ask once more, and get the parent's answer.
#include <algorithm>
#include <array>
#include <numeric>

#include "core/packet/packet.h"
#include "tests/replay/replay.h"

namespace infold::replay {
namespace {

using core::Kind;

core::AggregatorOptions draw_job(base::Prng& prng) {
  static constexpr std::array<std::uint16_t, 8> kWorkers = {1, 2, 8, 63, 64, 65, 128, 256};
  core::AggregatorOptions options;
  options.job = 7;
  options.epoch = 3;
  options.slot_count = 1;
  options.datagram_bytes_max = 1472;
  const std::uint16_t workers = kWorkers[prng.below(kWorkers.size())];
  // Some workers speak for several ranks, or for ranks other than their own number.
  const bool is_plain = workers > 128 || prng.chance(0.7);
  std::uint16_t first = 0;
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    const auto count = static_cast<std::uint16_t>(is_plain || prng.chance(0.5) ? 1 : 2);
    options.workers.push_back({first, count});
    first = static_cast<std::uint16_t>(first + count);
  }
  options.world = first;
  if (prng.chance(0.5)) options.parent_worker = std::uint8_t{1};
  return options;
}

std::vector<std::byte> bare(const core::AggregatorOptions& job, Kind kind, std::uint32_t round,
                            std::uint8_t worker) {
  core::Header header;
  header.kind = kind;
  header.job = job.job;
  header.epoch = job.epoch;
  header.round = round;
  header.worker = worker;
  header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES);
  core::write_header(header, datagram);
  return datagram;
}

void ask_parent(SideBySide& both, const core::AggregatorOptions& job, std::uint32_t round,
                base::Prng& prng) {
  for (int times = 0; times < 3; ++times) {
    for (std::uint64_t asks = prng.below(5); asks > 0; --asks) {
      const auto who = static_cast<std::uint8_t>(prng.below(job.workers.size()));
      both.deliver(bare(job, prng.chance(0.5) ? Kind::query : Kind::skip, round, who));
    }
    both.deliver(bare(job, Kind::pending, round, *job.parent_worker));
  }
  both.deliver(bare(job, Kind::result, round, *job.parent_worker));
}

}  // namespace

std::string replay_missing(std::uint64_t seed, conformance::XdpPlane& plane,
                           ReplayCounters& counters) {
  base::Prng prng(seed);
  SideBySide both(plane, counters);
  const core::AggregatorOptions job = draw_job(prng);
  both.add(job);
  std::vector<std::uint8_t> order(job.workers.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[prng.below(left)]);
    }
    for (std::size_t come = 0; come < order.size() && both.difference().empty(); ++come) {
      both.deliver(bare(job, Kind::skip, round, order[come]));
      const bool asks = prng.chance(0.3);
      const std::uint8_t who = order[prng.below(asks ? order.size() : come + 1)];
      both.deliver(bare(job, asks ? Kind::query : Kind::skip, round, who));
    }
    if (job.parent_worker) ask_parent(both, job, round, prng);
  }
  return both.difference();
}

}  // namespace infold::replay
