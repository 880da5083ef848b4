// SPDX-License-Identifier: Apache-2.0
//
// How a worker handles datagrams (spec section 7). Results go into tensors, other answers lead to
// retransmissions, and times improve the estimates. Datagrams that do not match a chunk in flight
// are dropped and counted.
#include <algorithm>
#include <cstring>

#include "core/near_memory.h"
#include "core/packet/integers.h"
#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

// Even with a third of all packets lost, one chunk in six comes back without a repeat.
constexpr std::uint32_t kUnclearResultsMax = 32;

// Larger than the private caches of most processors. The caller reads such a tensor from memory
// anyway.
constexpr std::uint64_t kLongTensorBytes = std::uint64_t{8} << 20;

bool is_written_around_caches(const TransferRequest& request) {
  return request.codec->streams &&
         request.elements * request.codec->element_bytes >= kLongTensorBytes;
}

}  // namespace

void Worker::State::handle_datagram(base::Instant now, std::uint8_t site,
                                    std::span<const std::byte> datagram) {
  Packet packet;
  if (parse(datagram, packet) != Malformed::none) {
    ++counters_.dropped_malformed;
    return;
  }
  handle(now, site, packet);
}

void Worker::State::handle(base::Instant now, std::uint8_t site, const Packet& packet) {
  const Header& header = packet.header;
  const bool is_ours = site < sites_.size() && drives(site) && header.job == sites_[site].job &&
                       header.epoch == sites_[site].epoch && header.kind >= Kind::result &&
                       (header.flags & INFOLD_FLAG_TAGGED) == 0;
  if (!is_ours) {
    ++counters_.dropped_foreign;
    return;
  }
  sites_[site].answered = true;
  if (header.kind == Kind::aborted) {
    handle_aborted(now, site, packet);
  } else {
    handle_answer(now, site, packet);
  }
}

void Worker::State::expect(std::uint8_t site, std::span<const std::byte> datagram) const {
  if (site >= sites_.size() || datagram.size() < sizeof(infold_header)) return;
  infold_be16 wire_slot;
  std::memcpy(&wire_slot, datagram.data() + offsetof(infold_header, slot), sizeof(wire_slot));
  const std::uint16_t number = infold_from_be16(wire_slot);
  const Flow& flow = this->flow(number < options_.small_slots ? small_stream : bulk_stream, site);
  const auto index = static_cast<std::uint16_t>(number - flow.first_slot);
  if (index >= flow.slots.size() || flow.slots[index].state == WorkerSlot::State::idle) return;
  const WorkerSlot& slot = flow.slots[index];
  const Transfer& transfer = streams_[flow.stream].at(slot.transfer);
  if (transfer.request.output == nullptr || transfer.request.codec == nullptr) return;
  if (is_written_around_caches(transfer.request)) {  // the result bypasses the caches
    bring_near(datagram.data(), datagram.size());
    return;
  }
  const std::size_t bytes =
      std::size_t{transfer.chunk_elements} * transfer.request.codec->element_bytes;
  bring_near_for_writing(transfer.request.output + slot.chunk * bytes, bytes);
}

void Worker::State::handle_answer(base::Instant now, std::uint8_t site, const Packet& packet) {
  const Header& header = packet.header;
  const StreamName name = header.slot < options_.small_slots ? small_stream : bulk_stream;
  Flow& flow = this->flow(name, site);
  const auto index = static_cast<std::uint16_t>(header.slot - flow.first_slot);
  if (index >= flow.slots.size()) {
    ++counters_.dropped_unexpected;
    return;
  }
  const WorkerSlot& slot = flow.slots[index];
  if (slot.state == WorkerSlot::State::idle || header.round != slot.round || slot.sends == 0) {
    const bool is_done = static_cast<std::int32_t>(header.round - slot.round) <= 0;
    ++(is_done ? counters_.dropped_repeat : counters_.dropped_unexpected);
    return;
  }
  const Chunk chunk = chunk_on(flow, index);
  if (header.signature != signature_of(chunk) || (header.flags & INFOLD_FLAG_PARTIAL) != 0) {
    ++counters_.dropped_unexpected;
    return;
  }
  switch (header.kind) {
    case Kind::result: handle_result(now, chunk, packet); break;
    case Kind::realign: handle_realign(now, chunk, packet); break;
    default: handle_pending(now, chunk, packet); break;
  }
  assert_flow(flow);
}

void Worker::State::handle_result(base::Instant now, Chunk chunk, const Packet& packet) {
  const Contributors& contributors = packet.header.contributors;
  const TransferRequest& request = chunk.transfer.request;
  if (contributors != expected_contributors(chunk.transfer)) {
    ++counters_.dropped_unexpected;
    return;
  }
  if (packet.is_brief && !chunk.transfer.contributes) {
    ++counters_.dropped_malformed;
    return;
  }
  ++counters_.received_result;
  if (request.wants_result() && packet.is_brief) take_own_elements(chunk);
  if (request.wants_result() && !packet.body.empty()) {
    const std::byte* exponents = packet.exponents;
    const std::byte* elements = packet.elements;
    if (packet.is_sparse()) {
      exponents = chunk_.data();
      elements = exponents + request.layout.exponent_bytes(chunk.range.elements);
      spread_result(packet, chunk_.data(), chunk_.data() + (elements - exponents));
    } else if (options_.sites[chunk.flow.site].is_big_endian) {
      reverse_elements(packet.elements, chunk.range.elements, request.layout.element_bytes(),
                       chunk_.data());
      elements = chunk_.data();
    }
    if (chunk.transfer.is_widened()) {
      narrow_elements(elements, chunk.range.elements, chunk.transfer.codec_bytes, chunk_.data());
      elements = chunk_.data();
    }
    const std::uint16_t* codes = request.codes;
    if (codes != nullptr) codes += chunk.range.first >> request.layout.block_shift();
    const bool averages = request.reduction == Reduction::average;
    request.codec->decode(request.context, request.output, chunk.range,
                          {exponents, elements, codes, averages ? contributors.count : 1U,
                           packet.has_specials(), is_written_around_caches(request)});
  }

  Flow& flow = chunk.flow;
  note_round_trip(now, chunk, packet);
  const WorkerSlot slot = chunk.slot;
  (slot.state == WorkerSlot::State::waiting ? flow.waiting : flow.resending)
      .remove(flow.slots, chunk.index);
  finish_chunk(chunk, contributors);
  flow.burst_confirmed = true;
  flow.other_is_late = false;
  chunk.transfer.missing.count = 0;
  RoundTrip& path = sites_[flow.site].path;
  // An answer that came late, or to one of several sends, does not show that the path is as short
  // as the estimate. Its queue may have become longer than all samples, and then the answers to
  // spurious repeats would keep it long. So timeouts stay as long as they have become (Karn's rule)
  // until an answer comes in time, or an aggregator has said that it waits for another worker. A
  // lost query alone does not count.
  const bool is_in_time =
      slot.confirmed || (slot.sends == 1 && now - slot.sent_at <= path.timeout());
  flow.backoff = is_in_time ? std::uint8_t{0} : static_cast<std::uint8_t>(flow.backoff & ~1U);
  const bool answers_last_send = slot.sends == 1 || now - slot.sent_at >= path.least();
  // If a repeat was answered with the result itself, the first answer was lost on its way to us.
  // While the path is not known, the repeat may have been sent too early.
  const bool is_repeat = slot.sends > 1 && answers_last_send && path.known();
  if (!slot.alone) {
    if (is_repeat && !slot.confirmed && !slot.loss_noted) flow.window.on_loss();
    flow.window.on_result();
    flow.window.end_round_if_due(path);
  }
  // Only a certain answer to the last send shows which chunks that send has overtaken. When queues
  // make the path longer than its minimum, first answers would otherwise make us ask about every
  // chunk in flight, and the answers would keep the queue.
  if (answers_last_send && !slot.overtaken) ask_for_overtaken(flow, now, slot);
  arm(flow, now);
}

// A brief RESULT leaves out the elements that this worker has sent. They are encoded once
// more, as for a repeat, so that the result has the same bits as a whole RESULT.
void Worker::State::take_own_elements(const Chunk& chunk) {
  const TransferRequest& request = chunk.transfer.request;
  const TensorCodec& codec = *request.codec;
  const std::uint16_t* codes = request.codes;
  if (codes != nullptr) codes += chunk.range.first >> request.layout.block_shift();
  TensorCodec::Received own = {.exponents = chunk_.data(),
                               .elements = chunk_.data(),
                               .codes = codes,
                               .is_long = is_written_around_caches(request)};
  if (codec.copies) {
    if (request.output == request.input) return;
    own.elements = request.input + chunk.range.first * codec.element_bytes;
  } else {
    codec.encode(request.context, request.input, chunk.range, codes, chunk_.data(), chunk_.data());
  }
  codec.decode(request.context, request.output, chunk.range, own);
}

// The exponents lie too far apart for exact lanes. The chunk is sent again, with codes that lie at
// most the spread below the largest exponent.
void Worker::State::handle_realign(base::Instant now, Chunk chunk, const Packet& packet) {
  const ElementLayout layout = chunk.transfer.request.layout;
  if (chunk.slot.realigned) {
    ++counters_.dropped_unexpected;
    return;
  }
  ++counters_.received_realign;
  note_round_trip(now, chunk, packet);
  const std::uint32_t blocks = layout.block_count(chunk.range.elements);
  std::uint16_t* const floors = &chunk.flow.floors[std::size_t{chunk.index} * blocks_max_];
  read_codes(layout, packet.exponents, blocks, floors);
  const std::int32_t spread = exponent_spread_max(layout, options_.world);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    floors[block] = static_cast<std::uint16_t>(std::max(floors[block] - spread, 0));
  }
  if (chunk.slot.state == WorkerSlot::State::waiting) queue_resend(chunk.flow, chunk.index, false);
  ++counters_.resent_asked;
  ++chunk.slot.round;
  chunk.slot.sends = chunk.slot.tries = 0;
  chunk.slot.realigned = true;
  chunk.slot.confirmed = false;
  chunk.slot.asks = false;
  chunk.flow.backoff = 0;
  arm(chunk.flow, now);
}

void Worker::State::handle_pending(base::Instant now, Chunk chunk, const Packet& packet) {
  const std::optional<RankRanges> missing = read_missing(packet, options_.world);
  if (!missing) {
    ++counters_.dropped_malformed;
    return;
  }
  ++counters_.received_pending;
  // A first send is only answered with a result, so a PENDING answers the second send. In a tree an
  // answer goes to all workers that ask, so it says nothing about our path.
  const bool is_ours = chunk.slot.sends == 2 && !options_.limits.tree;
  if (is_ours) sites_[chunk.flow.site].path.add(now - chunk.slot.sent_at);
  const Presence own = presence_in(packet, options_.rank);
  if (own == Presence::missing) {
    chunk.slot.confirmed = false;
    chunk.slot.asks = false;
    chunk.slot.tries = 0;
    if (chunk.slot.state != WorkerSlot::State::waiting) return;
    ++counters_.resent_asked;
    if (!chunk.slot.loss_noted) chunk.flow.window.on_loss();
    chunk.slot.loss_noted = true;
    chunk.flow.other_is_late = false;
    chunk.flow.backoff = 0;
    queue_resend(chunk.flow, chunk.index, false);
    arm(chunk.flow, now);
    return;
  }
  // Otherwise the contribution may be lost, and the timeout sends it again as after silence.
  chunk.slot.confirmed = own == Presence::there;
  chunk.flow.other_is_late = chunk.slot.confirmed;
  chunk.flow.skewed_until = now;
  chunk.transfer.missing = *missing;
  chunk.transfer.missing_at = now;
}

// Takes a sample if the time measures only the path: the chunk was sent once, and did not wait for
// a worker that came late. If we completed the slot ourselves, nobody was later than we. A wait
// that is shorter than the estimate is news in any case, because the path cannot be longer than
// that.
void Worker::State::note_round_trip(base::Instant now, const Chunk& chunk, const Packet& packet) {
  const WorkerSlot& slot = chunk.slot;
  Site& site = sites_[chunk.flow.site];
  const base::Duration sample = now - slot.sent_at;
  const base::Duration believed = site.path.known() ? site.path.mean() : RoundTrip::kInitialTimeout;
  if (slot.sends != 1) {
    // An aggregator said that it waited for a worker, so the time says nothing about the path. In a
    // large job most chunks wait for some rank's repeat.
    if (slot.confirmed) return;
    // Whichever send was answered, the path takes at least this long. One such wait means a loss.
    // Many in a row mean that the path has become longer than the timeout, so that the worker asks
    // about every chunk and would not notice otherwise. If the path is longer than the very first
    // timeout, the time since the first send is the better estimate, because the wait for the
    // answer to a query may be too short forever.
    site.unclear_wait.add(now - slot.first_sent_at);
    if (++site.unclear_results <= kUnclearResultsMax) return;
    if (!site.path.known()) {
      site.path.add_unclear(*site.unclear_wait);
    } else if (sample > believed) {
      site.path.add_unclear(sample);
    }
    return;
  }
  site.unclear_results = 0;
  site.unclear_wait.clear();
  // In a tree the field is the number of a branch at the root, which says nothing about us.
  const bool completed_it = !options_.limits.tree && packet.header.worker == site.worker;
  const bool may_include_wait = slot.opened_burst || slot.sent_at <= chunk.flow.skewed_until;
  if (may_include_wait && !completed_it && sample > believed) return;
  if (slot.alone) {
    site.lull.on_sample(sample);
    if (site.path.known()) return;
  }
  site.path.add(sample);
  if (!slot.alone) chunk.flow.window.on_sample(sample);
}

// If a chunk was sent well before one that has come back, something is missing, most often the
// contribution of one other worker. A query costs only a header. If all workers retransmitted
// instead, they would multiply that worker's loss by the size of the job. If the newer chunk was
// itself sent more than once since an aggregator lacked it, its result may answer any of these
// sends. When queues make the path longer than all measurements, every such result would be a
// reason to ask about everything in flight, and the queries would keep the queues. In this case a
// chunk that was asked about recently is left out, and while timeouts are longer than the estimate,
// also one that was sent recently. Sends that were answered raise no such doubt, and do not make
// anyone wait longer.
void Worker::State::ask_for_overtaken(Flow& flow, base::Instant now, const WorkerSlot& newer) {
  const RoundTrip& path = sites_[flow.site].path;
  const base::Duration allowance = path.least() / 4;
  std::uint16_t index = flow.waiting.front();
  while (index != kNoSlot && flow.slots[index].sent_at + allowance < newer.sent_at) {
    const WorkerSlot& slot = flow.slots[index];
    const std::uint16_t next = slot.next;
    const std::uint32_t repeats =
        std::max<std::uint32_t>(flow.backoff, slot.tries > 1 ? slot.tries - 2U : 0U);
    const bool is_in_doubt = newer.tries > 1 && (slot.tries > 1 || flow.backoff > 0);
    if (!is_in_doubt || now >= slot.sent_at + wait_after(path, repeats)) {
      ++counters_.asked_overtaken;
      queue_resend(flow, index, true);
      flow.slots[index].overtaken = true;
    }
    index = next;
  }
}

void Worker::State::handle_aborted(base::Instant now, std::uint8_t site, const Packet& packet) {
  const std::optional<Abort> abort = read_abort(packet.body);
  if (!abort || !names_members(*abort, options_.world)) {
    ++counters_.dropped_malformed;
    return;
  }
  const bool is_news = !failure_;
  hear_end(now, *abort);
  // Until the root knows, other workers may not know, so the worker keeps repeating its ABORT
  //
  Site& from = sites_[site];
  from.abort_due = from.abort_due && (packet.header.flags & INFOLD_FLAG_PARTIAL) != 0;
  // The aggregator has told its parent itself. If all its workers told it at once, it would pass
  // every message on to its parent.
  if (is_news) from.abort_at = now + spread(from.path.timeout());
}

}  // namespace infold::core
