// SPDX-License-Identifier: Apache-2.0
//
// The slot rules as an onlooker can check them.
#include "sim/slot_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/checksum.h"
#include "sim/stale.h"

namespace infold::sim {
namespace {

using core::Kind;

bool is_contribution(Kind kind) {
  return kind == Kind::add || kind == Kind::skip || kind == Kind::partial ||
         kind == Kind::overrange;
}

bool is_answer(Kind kind) { return kind == Kind::result || kind == Kind::realign; }

bool parse_ours(std::span<const std::byte> bytes, std::uint16_t slot_count, core::Packet& packet) {
  return core::parse(bytes, packet) == core::Malformed::none && packet.header.job == kJob &&
         packet.header.epoch == kEpoch && packet.header.slot < slot_count;
}

}  // namespace

SlotWatch::SlotWatch(const Scenario& scenario, const Wiring& wiring)
    : stations_(wiring.network->node_count()),
      slot_count_(static_cast<std::uint16_t>(scenario.small_slots + scenario.bulk_slots)) {
  for (const NodeId node : wiring.worker_nodes) {
    stations_[node].round_known.resize(scenario.sites.size() * slot_count_);
  }
  for (std::size_t site = 0; site < scenario.sites.size(); ++site) {
    const auto& nodes = wiring.aggregator_nodes[site];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Station& station = stations_[nodes[i]];
      station.is_aggregator = true;
      station.is_root = i == 0;
      station.workers =
          static_cast<std::uint32_t>(scenario.sites[site].aggregators[i].children.size());
      station.copies.resize(slot_count_ * 2U);
      station.round_known.resize(scenario.sites.size() * slot_count_);
    }
  }
}

std::uint32_t& SlotWatch::round_known(NodeId node, const Path& path, std::uint16_t slot) {
  return stations_[node].round_known[path.site * slot_count_ + slot];
}

void SlotWatch::on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes) {
  core::Packet packet;
  if (!parse_ours(bytes, slot_count_, packet)) return;
  const core::Header& header = packet.header;
  if (is_contribution(header.kind) && !stations_[path.source].round_known.empty()) {
    if (round_known(path.source, path, header.slot) + 1 < header.round) {
      break_promise(now, header, "was taken before the chunk before it came back");
    }
  }
  if (is_answer(header.kind) && stations_[path.source].is_aggregator) {
    answer_leaves(now, stations_[path.source], packet, bytes);
  }
}

void SlotWatch::on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) {
  core::Packet packet;
  if (!parse_ours(bytes, slot_count_, packet)) return;
  const core::Header& header = packet.header;
  const NodeId here = path.destination();
  if (is_answer(header.kind)) {
    std::uint32_t& known = round_known(here, path, header.slot);
    known = std::max(known, header.round);
  }
  if (is_contribution(header.kind) && stations_[here].is_aggregator) {
    contribution_arrives(now, stations_[here], header);
  }
}

void SlotWatch::contribution_arrives(base::Instant now, Station& station,
                                     const core::Header& header) {
  Copy& copy = station.copies[header.slot * 2U + (header.round & 1)];
  if (header.round < copy.round) return;  // late; the aggregator must not count it
  if (header.round > copy.round) {
    const Copy& other = station.copies[header.slot * 2U + (~header.round & 1)];
    const bool first = header.round == 1;
    if (!first && (other.round + 1 != header.round || other.answer_hash == 0)) {
      break_promise(now, header, "arrived before the chunk before it was answered");
    }
    copy = Copy{};
    copy.round = header.round;
  }
  if (copy.came_in[header.worker]) return;
  copy.came_in[header.worker] = true;
  copy.contributors += header.contributors.count;
}

void SlotWatch::answer_leaves(base::Instant now, Station& station, const core::Packet& packet,
                              std::span<const std::byte> bytes) {
  const core::Header& header = packet.header;
  Copy& copy = station.copies[header.slot * 2U + (header.round & 1)];
  const std::uint64_t hash = hash_bytes(bytes, 1) | 1;
  if (copy.round != header.round) {
    break_promise(now, header, "was answered though nothing of it came in");
  } else if (copy.came_in.count() != station.workers) {
    break_promise(now, header, "was answered before all contributions came in");
  } else if (copy.answer_hash != 0 && copy.answer_hash != hash) {
    break_promise(now, header, "was answered twice, not in the same words");
  } else if (station.is_root && header.kind == Kind::result &&
             header.contributors.count != copy.contributors) {
    break_promise(now, header, "counts ranks that did not contribute, or too few");
  }
  if (copy.answer_hash == 0) {
    useful_packets_ += 2 * station.workers;
    answered_ += station.is_root ? 1 : 0;
  }
  copy.answer_hash = hash;
}

void SlotWatch::break_promise(base::Instant now, const core::Header& header, const char* what) {
  if (!violation_.empty()) return;
  violation_ = fmt::format("at {} ns: slot {} chunk {} of worker {} {}", now.ns, header.slot,
                           header.round, header.worker, what);
}

}  // namespace infold::sim
