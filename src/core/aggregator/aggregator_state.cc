// SPDX-License-Identifier: Apache-2.0
//
// The state of an aggregator: its size in bytes, its hash, and the invariants that hold whenever
// none of its functions is running. Each check concerns what the aggregator itself has written,
// because a packet changes nothing before dispatch() has compared it with the options and the slot.
#include "base/check.h"
#include "base/digest.h"
#include "core/aggregator/aggregator.h"

namespace infold::core {

std::size_t Aggregator::memory_bytes() const {
  return copies_.capacity() * sizeof(Copy) +
         (asking_.capacity() + asked_since_.capacity()) * sizeof(WorkerSet) +
         outbox_.capacity() * sizeof(Transmit) + datagrams_.size_bytes() + codes_.size_bytes() +
         specials_.size_bytes() + cleaned_.capacity() + whole_.capacity() +
         steps_.capacity() * sizeof(BlockStep) + spoken_for_.capacity() * sizeof(Contributors) +
         packet_codes_.capacity() * sizeof(std::uint16_t) + exact_.memory_bytes() +
         parts_.capacity() * sizeof(Parts) + lows_.capacity() * sizeof(double) +
         part_datagrams_.size_bytes();
}

Aggregator::Arrays Aggregator::arrays_of(std::uint16_t slot, std::uint32_t round) {
  const std::size_t copy = slot * 2U + (round & 1);
  std::uint16_t* const codes = codes_.data() + copy * blocks_max_ * 2;
  std::uint64_t* const specials = specials_.data() + copy * (elements_max_ / 64) * 2;
  return {datagram_of(copy),
          exact_.memory(static_cast<std::uint32_t>(copy)),
          codes,
          codes + blocks_max_,
          specials,
          specials + elements_max_ / 64};
}

// At most one copy of a slot is at work, and the two copies have consecutive rounds.
void Aggregator::assert_turns([[maybe_unused]] const Copy& copy,
                              [[maybe_unused]] const Copy& other) {
#ifndef INFOLD_CANARY_WITHOUT_ROUND_CHECK
  CHECK(copy.phase == Phase::done || other.phase == Phase::done);
  CHECK(copy.round - other.round == 1 || other.round - copy.round == 1);
#endif
}

void Aggregator::assert_all() const {
  CHECK_THAT(outbox_count_, <=, outbox_.size());
  CHECK_THAT(outbox_sent_, <=, outbox_count_);
  CHECK(!abort_ || has_parent() || root_knows_);
  CHECK(abort_ || asking_for_end_.is_empty());
  for (std::size_t slot = 0; slot < options_.slot_count; ++slot) {
    const Copy& even = copies_[slot * 2];
    const Copy& odd = copies_[slot * 2 + 1];
    assert_invariants(even);
    assert_invariants(odd);
    assert_turns(even, odd);
    assert_copy(even);
    assert_copy(odd);
#ifndef INFOLD_CANARY_WITHOUT_ROUND_CHECK
    CHECK_THAT(even.round % 2, ==, 0U);
    const bool is_forwarded = even.phase == Phase::forwarded || odd.phase == Phase::forwarded;
    CHECK(asking_.empty() || is_forwarded || asking_[slot].is_empty());
    if (has_parent()) {
      asked_since_[slot].for_each([&](std::uint8_t each) { CHECK(asking_[slot].has(each)); });
    }
#endif
  }
}

void Aggregator::assert_copy(const Copy& copy) const {
  const bool was_used = copy.phase != Phase::done || copy.stored_bytes > 0;
  // Parts of an exact sum may have come before any whole contribution.
  const bool has_parts = copy.has_lanes && copy.signature.layout().is_native();
  copy.seen.for_each([&](std::uint8_t worker) { CHECK(expected_.has(worker)); });
#ifndef INFOLD_CANARY_WITHOUT_ROUND_CHECK
  CHECK(was_used == (!copy.seen.is_empty() || has_parts));
#endif
  if (!was_used) return;
  CHECK(copy.phase == Phase::collecting || copy.stored_bytes >= INFOLD_HEADER_BYTES);
  CHECK(!copy.brief_for || (copy.phase == Phase::done && !aggregators_.has(*copy.brief_for)));
  CHECK_THAT(copy.signature.elements, <=, elements_max_);
  const bool is_block_float = copy.signature.layout().is_block_float();
  CHECK(!copy.overrange || (copy.has_lanes && is_block_float));
  CHECK(!copy.has_specials || (copy.has_lanes && is_block_float));
  CHECK(!copy.came_in_quarters || copy.has_lanes);
  CHECK(!copy.has_lanes || copy.contributors.count > 0 || has_parts);
}

std::uint64_t Aggregator::digest() const {
  base::Digest digest;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copy& copy = copies_[i];
    digest.add(static_cast<std::uint64_t>(copy.phase) | std::uint64_t{copy.overrange} << 8 |
               std::uint64_t{copy.has_lanes} << 9 | std::uint64_t{copy.has_specials} << 10 |
               static_cast<std::uint64_t>(copy.lane_width) << 11 |
               std::uint64_t{copy.came_whole} << 13 | std::uint64_t{copy.came_in_quarters} << 14 |
               std::uint64_t{copy.brief_for ? *copy.brief_for + 1U : 0U} << 16 |
               std::uint64_t{copy.round} << 32);
    for (const std::uint64_t word : copy.seen.words()) digest.add(word);
    digest.add(copy.contributors.digest);
    const std::byte* const datagram = datagram_of(i);
    const bool integers = !copy.signature.layout().is_block_float();
    if (copy.phase != Phase::collecting) {
      digest.add({datagram, copy.stored_bytes});
    } else if (copy.signature.layout().is_native()) {
      exact_.add_to_digest(static_cast<std::uint32_t>(i), digest);
    } else if (copy.has_lanes && integers) {
      digest.add({datagram + INFOLD_HEADER_BYTES,
                  copy.signature.elements * copy.signature.layout().element_bytes()});
    } else if (copy.has_lanes) {
      const std::byte* const lanes = exact_.memory(static_cast<std::uint32_t>(i));
      digest.add({lanes, copy.signature.elements * std::size_t{lane_bytes(copy.lane_width)}});
      digest.add(std::as_bytes(std::span(codes_.data() + i * blocks_max_ * 2, blocks_max_ * 2)));
    }
  }
  for (const Parts& parts : parts_) digest.add(parts.seen | std::uint64_t{parts.count} << 32);
  for (const std::vector<WorkerSet>* sets : {&asking_, &asked_since_}) {
    for (const WorkerSet& workers : *sets) {
      for (const std::uint64_t word : workers.words()) digest.add(word);
    }
  }
  for (const std::uint64_t word : asking_for_end_.words()) digest.add(word);
  digest.add(abort_ ? static_cast<std::uint64_t>(abort_->reason) * 2 + root_knows_ : 0);
  return digest.value();
}

}  // namespace infold::core
