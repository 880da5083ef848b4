// SPDX-License-Identifier: Apache-2.0
//
// Applies the rules in plain code: which chunk a packet is of, whether it is new or a repeat, and
// whether the chunk is complete.
#include "tests/hostile/slot_model.h"

namespace infold::hostile {

std::uint32_t SlotModel::newest_round(std::uint16_t slot) { return slots_[slot].newest; }

ModelAnswer SlotModel::take(const ModelPacket& packet) {
  Slot& slot = slots_[packet.slot];
  // Rounds 0 and before count as done. A chunk is forgotten two rounds later.
  const bool forgotten =
      packet.round == 0 || packet.round > 0x80000000U || packet.round + 2 <= slot.newest;
  if (forgotten) return {ModelAnswer::What::stale, {}, 0, {}};

  const bool is_next = packet.round == slot.newest + 1;
  const bool may_begin = slot.newest == 0 || slot.chunks[slot.newest].complete;
  if (packet.round > slot.newest && !(is_next && may_begin)) {
    return {ModelAnswer::What::early, {}, 0, {}};
  }
  if (is_next && packet.kind == ModelPacket::Kind::query) return pending(Chunk{});
  if (is_next) slot.newest = packet.round;

  Chunk& chunk = slot.chunks[packet.round];
  const bool repeat =
      packet.kind == ModelPacket::Kind::query || chunk.contributions.contains(packet.worker);
  if (repeat) {
    return chunk.complete ? result(chunk, ModelAnswer::What::result_to_one) : pending(chunk);
  }
  chunk.contributions[packet.worker] = packet;
  if (chunk.contributions.size() < workers_) return {};
  chunk.complete = true;
  return result(chunk, ModelAnswer::What::result_to_all);
}

ModelAnswer SlotModel::result(const Chunk& chunk, ModelAnswer::What what) const {
  ModelAnswer answer;
  answer.what = what;
  std::vector<std::int64_t> sums(elements_);
  for (const auto& [worker, packet] : chunk.contributions) {
    if (packet.kind != ModelPacket::Kind::add) continue;
    ++answer.contributors;
    for (std::uint32_t i = 0; i < elements_; ++i) sums[i] += packet.elements[i];
  }
  if (answer.contributors == 0) return answer;
  for (const std::int64_t sum : sums) {
    answer.sum.push_back(static_cast<std::int32_t>(static_cast<std::uint64_t>(sum)));
  }
  return answer;
}

ModelAnswer SlotModel::pending(const Chunk& chunk) const {
  ModelAnswer answer;
  answer.what = ModelAnswer::What::pending;
  for (std::uint8_t worker = 0; worker < workers_; ++worker) {
    if (!chunk.contributions.contains(worker)) answer.missing.insert(worker);
  }
  return answer;
}

}  // namespace infold::hostile
