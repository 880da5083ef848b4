// SPDX-License-Identifier: Apache-2.0
//
// The invariants of a worker, which hold whenever none of its functions is running. They do not
// depend on what others send, because handle_datagram() drops everything that does not fit before
// it changes anything.
#include <algorithm>

#include "base/check.h"
#include "core/worker/worker_state.h"

namespace infold::core {

Worker::State::Inputs::Inputs(State& state) : state_(state) { state_.assert_invariants(); }

Worker::State::Inputs::~Inputs() {
  state_.assert_invariants();
  state_.count_input();
}

// Takes a time that does not depend on slots and transfers.
void Worker::State::assert_invariants() const {
  CHECK_THAT(live_transfers_ + event_count_, <=, events_.size());
  CHECK_THAT(first_event_, <, events_.size());
  CHECK(driven_.empty() || next_site_ < driven_.size());
  for (const Stream& stream : streams_) {
    CHECK_THAT(stream.first, <=, stream.numbered);
    CHECK_THAT(stream.numbered, <=, stream.end);
    CHECK_THAT(stream.end - stream.first, <=, stream.ring.size());
    CHECK(stream.first == stream.end || !stream.at(stream.first).done);
  }
  for (const Flow& flow : flows_) {
    assert_flow(flow);
    CHECK(!failure_ || flow.in_flight == 0);
  }
  for (const Site& site : sites_) {
    CHECK(failure_ || !site.abort_due);
  }
  CHECK(!failure_ || live_transfers_ == 0);
  CHECK(!failure_ || earliest_deadline_ == base::Instant::never());
}

void Worker::State::assert_all() const {
  for (const Stream& stream : streams_) assert_stream(stream);
  std::uint32_t live = 0;
  base::Instant earliest = base::Instant::never();
  for (const Stream& stream : streams_) {
    for (std::uint64_t place = stream.first; place < stream.end; ++place) {
      const Transfer& transfer = stream.at(place);
      if (transfer.done) continue;
      live += transfer.announces == 0 ? 1 : 0;
      earliest = std::min(earliest, transfer.request.deadline);
    }
  }
  CHECK_THAT(live, ==, live_transfers_);
  CHECK_THAT(earliest.ns, ==, earliest_deadline_.ns);
  for (const Flow& flow : flows_) assert_slots(flow);
}

// Chunks have consecutive numbers as far as sizes are known, and ids rise with the order of calls.
void Worker::State::assert_stream(const Stream& stream) const {
  const Transfer* before = nullptr;
  for (std::uint64_t place = stream.first; place < stream.end; ++place) {
    const Transfer& transfer = stream.at(place);
    const bool is_numbered = place < stream.numbered;
    CHECK(transfer.own_chunks == kNotKnown || transfer.own_chunks <= transfer.chunk_count);
    CHECK(transfer.own_chunks != kNotKnown || !is_numbered);
    CHECK(transfer.own_chunks == kNotKnown ||
          transfer.done_chunks <= transfer.own_chunks + (transfer.announced ? 1 : 0));
    CHECK(!is_numbered || transfer.has_size);
    CHECK(!transfer.done || transfer.has_size);
    CHECK(transfer.announces != 0 || transfer.id != TransferId::none);
    if (transfer.announces != 0) {
      CHECK(&stream == &streams_[small_stream]);
      CHECK(transfer.done || !streams_[bulk_stream].is_done(transfer.announces - 1));
    }
    if (before != nullptr && is_numbered) {
      CHECK_THAT(before->first_chunk + before->chunk_count, ==, transfer.first_chunk);
    }
    // The call of a finished announcement may already have left the other ring.
    if (before != nullptr && !before->done && !transfer.done) {
      CHECK(call_of(*before) < call_of(transfer));
    }
    before = &transfer;
  }
  if (stream.first < stream.numbered) {
    const Transfer& last = stream.at(stream.numbered - 1);
    CHECK_THAT(last.first_chunk + last.chunk_count, ==, stream.next_chunk);
  }
}

// Each chunk in flight is on one slot, and each such slot is in the list that its state names.
void Worker::State::assert_slots(const Flow& flow) const {
  const Stream& stream = streams_[flow.stream];
  CHECK(flow.slots.empty() || flow.next_slot < flow.slots.size());
  CHECK_THAT(flow.backoff, <=, kBackoffMax);
  CHECK(flow.grain > 0 && flow.grain <= kWholeBlocks);
  CHECK_THAT(flow.plan.chunks, <=, INFOLD_SPARSE_CHUNKS_MAX);
  CHECK_THAT(flow.window.size(), >, 0U);
  std::uint32_t in_flight = 0;
  for (const WorkerSlot& slot : flow.slots) {
    CHECK_THAT(slot.tries, <=, slot.sends);
    if (slot.state == WorkerSlot::State::idle) continue;
    ++in_flight;
    CHECK(slot.state == WorkerSlot::State::resending || slot.sends > 0);
    CHECK(slot.state == WorkerSlot::State::resending || !slot.asks);
    CHECK_THAT(slot.transfer, >=, stream.first);
    CHECK_THAT(slot.transfer, <, stream.numbered);
    const Transfer& transfer = stream.at(slot.transfer);
    CHECK(!transfer.done);
    CHECK_THAT(slot.chunk, <, transfer.chunk_count);
    CHECK_THAT(transfer.done_chunks, <, transfer.own_chunks + (transfer.announced ? 1 : 0));
  }
  CHECK_THAT(in_flight, ==, flow.in_flight);
  const std::size_t waiting = flow.waiting.assert_linked(flow.slots, WorkerSlot::State::waiting);
  const std::size_t resending =
      flow.resending.assert_linked(flow.slots, WorkerSlot::State::resending);
  CHECK_THAT(waiting + resending, ==, flow.in_flight);
  // The chunks in `waiting` are in the order in which they were sent.
  std::uint16_t index = flow.waiting.front();
  for (; index != kNoSlot && flow.slots[index].next != kNoSlot; index = flow.slots[index].next) {
    CHECK_THAT(flow.slots[index].sent_at.ns, <=, flow.slots[flow.slots[index].next].sent_at.ns);
  }
}

}  // namespace infold::core
