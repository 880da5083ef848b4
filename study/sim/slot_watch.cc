// SPDX-License-Identifier: Apache-2.0
//
// Checks the slot rules from outside the machines.
#include "study/sim/slot_watch.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "wire/infold_wire.h"

namespace infold::sim {
namespace {

bool is_contribution(std::uint8_t kind) {
  return kind >= INFOLD_KIND_ADD && kind <= INFOLD_KIND_OVERRANGE;
}

bool is_answer(std::uint8_t kind) {
  return kind == INFOLD_KIND_RESULT || kind == INFOLD_KIND_REALIGN;
}

}  // namespace

// Visits the chunks of a contribution, which are one or several on consecutive slots.
template <typename Visit>
void SlotWatch::for_each_chunk(Sighting seen, Visit&& visit) {
  for (std::uint32_t chunk = 0; chunk < seen.chunks; ++chunk, ++seen.slot) visit(seen);
}

SlotWatch::SlotWatch(const Scenario& scenario, const Wiring& wiring)
    : stations_(wiring.network->node_count()),
      slot_count_(static_cast<std::uint16_t>(scenario.plan.small_slots + scenario.plan.bulk_slots)),
      epoch_(scenario.epoch) {
  for (const NodeId node : wiring.worker_nodes) {
    stations_[node].round_known.resize(scenario.plan.trees.size() * slot_count_);
  }
  for (std::size_t site = 0; site < scenario.plan.trees.size(); ++site) {
    const auto& nodes = wiring.aggregator_nodes[site];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Station& station = stations_[nodes[i]];
      station.is_aggregator = true;
      station.is_root = i == 0;
      station.workers =
          static_cast<std::uint32_t>(scenario.plan.trees[site].aggregators[i].children.size());
      station.copies.resize(slot_count_ * 2U);
      station.round_known.resize(scenario.plan.trees.size() * slot_count_);
    }
  }
}

std::uint32_t& SlotWatch::round_known(NodeId node, const Path& path, std::uint16_t slot) {
  return stations_[node].round_known[path.site * slot_count_ + slot];
}

bool SlotWatch::sight(std::span<const std::byte> bytes, Sighting& seen) const {
  infold_header header;
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  seen = {.kind = static_cast<std::uint8_t>(header.version_kind & 0xF),
          .worker = header.worker,
          .slot = infold_from_be16(header.slot),
          .contributors = infold_from_be16(header.contributors),
          .round = infold_from_be32(header.round)};
  seen.is_brief = seen.kind == INFOLD_KIND_RESULT && seen.contributors > 0 &&
                  header.elements.wire != 0 && bytes.size() == sizeof(header);
  if ((header.flags & INFOLD_FLAG_SPARSE) != 0) {
    infold_sparse head;
    if (bytes.size() < sizeof(header) + sizeof(head)) return false;
    std::memcpy(&head, bytes.data() + sizeof(header), sizeof(head));
    seen.chunks = infold_from_be16(head.chunks);
  }
  if (seen.kind == INFOLD_KIND_PARTIAL && (header.format & 0xF) == INFOLD_FORMAT_NATIVE) {
    infold_exact head;
    if (bytes.size() < sizeof(header) + sizeof(head)) return false;
    std::memcpy(&head, bytes.data() + sizeof(header), sizeof(head));
    seen.parts = head.parts;
  }
  return infold_from_be16(header.job) == kJob && infold_from_be32(header.epoch) == epoch_ &&
         seen.slot + seen.chunks <= slot_count_;
}

void SlotWatch::on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
                        std::uint64_t hash) {
  Sighting seen;
  if (!sight(bytes, seen)) return;
  if (is_contribution(seen.kind) && !stations_[path.source].round_known.empty()) {
    for_each_chunk(seen, [&](const Sighting& chunk) {
      if (round_known(path.source, path, chunk.slot) + 1 < chunk.round) {
        break_promise(now, chunk, "was sent before the answer to the slot's previous chunk came");
      }
    });
  }
  if (seen.kind == INFOLD_KIND_ABORTED) stations_[path.source].has_ended = true;
  if (is_answer(seen.kind) && stations_[path.source].is_aggregator) {
    answer_leaves(now, path, seen, hash);
  }
}

void SlotWatch::on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) {
  Sighting seen;
  if (!sight(bytes, seen)) return;
  const NodeId here = path.destination();
  if (is_answer(seen.kind)) {
    std::uint32_t& known = round_known(here, path, seen.slot);
    known = std::max(known, seen.round);
  }
  if (is_contribution(seen.kind) && stations_[here].is_aggregator) {
    for_each_chunk(seen, [&](const Sighting& chunk) { contribution_arrives(now, path, chunk); });
  }
}

void SlotWatch::contribution_arrives(base::Instant now, const Path& path, const Sighting& seen) {
  Station& station = stations_[path.destination()];
  if (station.has_ended) return;
  Copy& copy = station.copies[seen.slot * 2U + (seen.round & 1)];
  if (seen.round < copy.round) return;  // the packet is late, and the aggregator must not count it
  if (seen.round > copy.round) {
    const Copy& other = station.copies[seen.slot * 2U + (~seen.round & 1)];
    const bool first = seen.round == 1;
    if (!first && (other.round + 1 != seen.round || !is_answered(other))) {
      break_promise(now, seen, "arrived before the slot's previous chunk was answered");
    }
    copy = Copy{};
    copy.round = seen.round;
  }
  if (copy.came_in[seen.worker]) return;
  copy.came_in[seen.worker] = true;
  ++copy.workers;
  copy.contributors += seen.contributors;
  useful_packets_ += seen.parts - 1;
  if (seen.kind == INFOLD_KIND_SKIP) return;
  ++copy.with_data;
  copy.data_from = path.source;
}

void SlotWatch::answer_leaves(base::Instant now, const Path& path, const Sighting& seen,
                              std::uint64_t hash) {
  Station& station = stations_[path.source];
  Copy& copy = station.copies[seen.slot * 2U + (seen.round & 1)];
  std::uint64_t& answer_hash = seen.is_brief ? copy.brief_hash : copy.answer_hash;
  if (copy.round != seen.round) {
    break_promise(now, seen, "was answered although no contribution came");
  } else if (copy.workers != station.workers) {
    break_promise(now, seen, "was answered before all contributions came");
  } else if (seen.is_brief && (copy.with_data != 1 || copy.data_from != path.destination() ||
                               stations_[path.destination()].is_aggregator)) {
    break_promise(now, seen, "went without elements to another node than their only sender");
  } else if (answer_hash != 0 && answer_hash != hash) {
    break_promise(now, seen, "was answered twice, with different packets");
  } else if (station.is_root && seen.kind == INFOLD_KIND_RESULT &&
             seen.contributors != copy.contributors) {
    break_promise(now, seen, "reports a wrong count of contributors");
  }
  if (!is_answered(copy)) {
    useful_packets_ += 2 * station.workers;
    answered_ += station.is_root ? 1 : 0;
  }
  answer_hash = hash;
}

void SlotWatch::break_promise(base::Instant now, const Sighting& seen, const char* what) {
  if (!violation_.empty()) return;
  violation_ = fmt::format("at {} ns: slot {} chunk {} of worker {} {}", now.ns, seen.slot,
                           seen.round, seen.worker, what);
}

}  // namespace infold::sim
