// SPDX-License-Identifier: Apache-2.0
//
// Compares the aggregator with a model of the slot rules, packet by packet, with hostile packets in
// between. A dropped packet must leave the aggregator as it was. Worker 1 may send partial sums.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "core/packet/exact_body.h"
#include "core/packet/sparse_body.h"
#include "tests/hostile/datagrams.h"
#include "tests/hostile/operations.h"
#include "tests/hostile/slot_model.h"

namespace {

using namespace infold;
using namespace infold::hostile;
using core::Aggregator;
using What = ModelAnswer::What;

void check_result(const core::Packet& packet, const ModelAnswer& answer) {
  CHECK(packet.header.kind == core::Kind::result);
  CHECK_THAT(packet.header.contributors.count, ==, answer.contributors);
  if (answer.sum.empty()) {
    CHECK(packet.elements == nullptr);
    return;
  }
  const std::size_t bytes = answer.sum.size() * sizeof(std::int32_t);
  std::array<std::byte, kElements * sizeof(std::int32_t)> spread;
  if (packet.is_sparse()) core::spread_result(packet, nullptr, spread.data());
  const std::byte* const elements = packet.is_sparse() ? spread.data() : packet.elements;
  CHECK(std::memcmp(elements, answer.sum.data(), bytes) == 0);
}

void check_answer(Aggregator& aggregator, const ModelPacket& asked, const ModelAnswer& answer) {
  const bool silent =
      answer.what == What::nothing || answer.what == What::stale || answer.what == What::early;
  const auto sent = aggregator.poll_transmit();
  CHECK(sent.has_value() != silent);
  if (silent) return;
  core::Packet packet;
  CHECK(core::parse(sent->datagram, packet) == core::Malformed::none);
  CHECK(packet.header.slot == asked.slot && packet.header.round == asked.round);
  if (answer.what == What::result_to_all) {
    CHECK(sent->to == Aggregator::To::all_workers);
  } else {
    CHECK(sent->to == Aggregator::To::worker && sent->worker == asked.worker);
  }
  if (answer.what == What::pending) {
    CHECK(packet.header.kind == core::Kind::pending);
    for (std::uint8_t rank = 0; rank < kWorkers; ++rank) {
      const bool is_missing = core::presence_in(packet, rank) == core::Presence::missing;
      CHECK(is_missing == answer.missing.contains(rank));
    }
  } else {
    check_result(packet, answer);
  }
  CHECK(!aggregator.poll_transmit());
}

// An honest packet near the one that the slot expects. Its elements follow from its chunk and
// worker.
ModelPacket honest(Operations& operations, SlotModel& model) {
  ModelPacket packet;
  const std::uint32_t choice = operations.below(8);
  packet.kind = choice < 5   ? ModelPacket::Kind::add
                : choice < 6 ? ModelPacket::Kind::skip
                             : ModelPacket::Kind::query;
  packet.worker = static_cast<std::uint8_t>(operations.below(kWorkers));
  packet.slot = static_cast<std::uint16_t>(operations.below(kSlots));
  packet.round = model.newest_round(packet.slot) + operations.below(5) - 2;
  for (std::uint32_t i = 0; i < kElements; ++i) {
    // In every third round the second quarter is zeros.
    const bool is_zero = packet.round % 3 == 0 && i >= INFOLD_BLOCK_ELEMENTS / 4;
    const std::uint32_t digit = is_zero ? 0 : packet.round * 7 + packet.slot + i + 1;
    packet.elements.push_back(static_cast<std::int32_t>(digit << (10 * packet.worker)));
  }
  return packet;
}

// The slot's rules treat all these forms alike, and a repeat may come in another form.
Datagram contribution_of(const ModelPacket& packet) {
  switch (packet.elements[0] >> (10 * packet.worker) & 3) {
    case 0: return add_datagram(packet.worker, packet.slot, packet.round, packet.elements);
    case 1: return sparse_add_datagram(packet.worker, packet.slot, packet.round, packet.elements);
    default:
      return quarters_add_datagram(packet.worker, packet.slot, packet.round, packet.elements);
  }
}

void exchange(Aggregator& aggregator, SlotModel& model, const ModelPacket& packet) {
  Datagram datagram;
  switch (packet.kind) {
    case ModelPacket::Kind::add: datagram = contribution_of(packet); break;
    case ModelPacket::Kind::skip:
      datagram = bare_datagram(core::Kind::skip, packet.worker, packet.slot, packet.round);
      break;
    case ModelPacket::Kind::query:
      datagram = bare_datagram(core::Kind::query, packet.worker, packet.slot, packet.round);
      break;
  }
  const core::Verdict verdict = aggregator.handle_datagram(datagram);
  const ModelAnswer answer = model.take(packet);
  CHECK((verdict == core::Verdict::dropped_stale_round) == (answer.what == What::stale));
  CHECK((verdict == core::Verdict::dropped_early_round) == (answer.what == What::early));
  check_answer(aggregator, packet, answer);
}

// Returns whether the aggregator took the datagram. If so, the model no longer knows the
// aggregator's state.
bool attack(Aggregator& aggregator, const Datagram& datagram) {
  const std::uint64_t before = aggregator.digest();
  const core::Verdict verdict = aggregator.handle_datagram(datagram);
  const bool dropped = verdict >= core::Verdict::dropped_malformed;
  if (dropped) {
    CHECK(aggregator.digest() == before);
    CHECK(!aggregator.poll_transmit());
  }
  std::uint32_t sent = 0;
  while (aggregator.poll_transmit()) ++sent;
  // It sends to each worker that asks, to all and the parent, or all parts of an exact sum to the
  // parent.
  CHECK_THAT(sent, <=, std::max<std::uint32_t>(kWorkers, core::kExactPartsMax));
  return aggregator.digest() != before;
}

Datagram hostile_datagram(Operations& operations) {
  if (operations.below(4) == 0) {
    const auto raw = std::as_bytes(operations.take(operations.byte()));
    return {raw.begin(), raw.end()};
  }
  static const std::vector<Datagram> samples = [] {
    std::vector<Datagram> all = samples_to_aggregator();
    for (const Datagram& one : samples_from_aggregator()) all.push_back(one);
    return all;
  }();
  Datagram datagram = samples[operations.below(static_cast<std::uint32_t>(samples.size()))];
  for (std::uint32_t flips = operations.below(4); flips > 0; --flips) {
    datagram[operations.byte() % datagram.size()] ^= static_cast<std::byte>(operations.byte());
  }
  if (operations.below(4) == 0) datagram.resize(operations.byte() % (datagram.size() + 4));
  return datagram;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Operations operations(data, size);
  const bool has_parent = operations.below(2) == 1;
  core::AggregatorOptions options = aggregator_options(has_parent);
  options.aggregators_of_one.push_back(1);
  options.brief_results = true;
  Aggregator aggregator(options);
  SlotModel model(kWorkers, kElements);
  bool in_step = !has_parent;  // the model has only a root
  for (int left = 400; left > 0 && !operations.done(); --left) {
    if (operations.below(4) == 0) {
      if (attack(aggregator, hostile_datagram(operations))) in_step = false;
      continue;
    }
    const ModelPacket packet = honest(operations, model);
    if (in_step) {
      exchange(aggregator, model, packet);
    } else {
      attack(aggregator, add_datagram(packet.worker, packet.slot, packet.round, packet.elements));
    }
  }
  return 0;
}
