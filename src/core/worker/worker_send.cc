// SPDX-License-Identifier: Apache-2.0
//
// What a worker sends, and when (spec section 7). The job's end goes first, then repeats, then new
// chunks as far as slots and window allow. Small tensors go before large ones.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/near_memory.h"
#include "core/packet/integers.h"
#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

// The first ABORTs are one timeout apart, which is soon enough after a lost packet. Later ones back
// off, so that all of them together outlast a path that is silent for a second. After the last one,
// workers hear of the end only by their own deadlines.
constexpr std::uint8_t kAbortsMax = 24;
constexpr std::uint8_t kAbortsAtTimeout = 8;
constexpr base::Duration kAbortWaitMax = base::milliseconds(250);

// Queries about a late worker four times a second are not a load. They also find results that were
// lost after the worker had come, and in a tree packets that were lost above the worker's own
// aggregator.
constexpr base::Duration kLateMax = base::milliseconds(250);

// How far a flow may be ahead of the slowest one, in windows of all flows together. A lost chunk is
// back after three round trips, so it does not stop the other flows before that.
constexpr std::uint64_t kWindowsAhead = 4;

base::Duration wait_after_abort(std::uint8_t sent, base::Duration timeout) {
  const int doublings = sent <= kAbortsAtTimeout ? 0 : sent - kAbortsAtTimeout;
  return std::min(base::Duration{timeout.ns << doublings}, std::max(timeout, kAbortWaitMax));
}

}  // namespace

std::optional<Worker::Transmit> Worker::State::poll_transmit(base::Instant now,
                                                             std::span<std::byte> out,
                                                             Payload payload) {
  takes_payload_ = payload;
  payload_ = {};
  if (failure_) return send_abort(now, out);
  const std::size_t site_count = driven_.size();
  for (const StreamName name : {small_stream, bulk_stream}) {
    for (std::size_t i = 0; i < site_count; ++i) {
      std::size_t turn = next_site_ + i;
      if (turn >= site_count) turn -= site_count;
      Flow& from = flow(name, driven_[turn]);
      if (auto transmit = send_from(from, now, out)) {
        transmit->payload = payload_;
        assert_flow(from);
        CHECK_THAT(transmit->bytes - INFOLD_HEADER_BYTES, <=, out.size() - INFOLD_HEADER_BYTES);
        count_input();
        next_site_ = static_cast<std::uint32_t>(turn + 1 == site_count ? 0 : turn + 1);
        return transmit;
      }
    }
  }
  return std::nullopt;
}

std::optional<Worker::Transmit> Worker::State::send_from(Flow& flow, base::Instant now,
                                                         std::span<std::byte> out) {
  const std::uint16_t again = flow.resending.front();
  if (again != kNoSlot) {
    flow.resending.remove(flow.slots, again);
    return send_chunk(flow, again, now, out);
  }
  const bool pauses = is_in_lull(flow, now);
  if (!may_send_next(flow, pauses)) return std::nullopt;
  const Bundle bundle = plan_bundle(flow, pauses);
  if (bundle.waits) return std::nullopt;
  if (bundle.chunks > 1) return send_bundle(flow, bundle.chunks, pauses, now, out);
  return send_chunk(flow, take_next_chunk(flow, pauses), now, out);
}

Worker::Transmit Worker::State::send_chunk(Flow& flow, std::uint16_t index, base::Instant now,
                                           std::span<std::byte> out) {
  const std::size_t bytes = write_chunk(chunk_on(flow, index), out);
  note_sent(flow, index, now);
  return {flow.site, bytes};
}

// Small tensors do not pause, because they hardly queue and are latency-bound. Shared memory has no
// queues to measure.
bool Worker::State::is_in_lull(const Flow& flow, base::Instant now) {
  Site& site = sites_[flow.site];
  return flow.stream == bulk_stream && !options_.sites[flow.site].in_memory &&
         site.lull.covers(now, options_.wall_clock_offset, site.path);
}

// Returns whether window and slots have room for the flow's next chunk, and the chunk is known and
// may be sent.
bool Worker::State::may_send_next(Flow& flow, bool pauses) {
  flow.next_waits = false;
  if (flow.in_flight >= (pauses ? 1 : flow.window.size()) || flow.slots.empty()) return false;
  if (flow.slots[flow.next_slot].state != WorkerSlot::State::idle) return false;

  const Stream& stream = streams_[flow.stream];
  flow.next_transfer = std::max(flow.next_transfer, stream.first);
  const std::uint64_t chunk = stripe_.chunk_at(flow.site, flow.next_chunk);
  while (flow.next_transfer < stream.numbered) {
    const Transfer& transfer = stream.at(flow.next_transfer);
    if (chunk < transfer.first_chunk + transfer.chunk_count) break;
    ++flow.next_transfer;
  }
  if (flow.next_transfer == stream.numbered) return false;
  const Transfer& transfer = stream.at(flow.next_transfer);
  flow.next_waits = !has_what_it_needs(transfer, chunk - transfer.first_chunk);
  return !flow.next_waits && !is_too_far_ahead(flow, chunk);
}

// A call is done when its last site is done. A flow therefore waits for the slowest one, which then
// gets more of the links that they share. Ranks cannot wait for one another in a circle: the first
// chunk that a rank has not sent is never too far ahead there, and all chunks before it have been
// sent. Sites in memory do not use links, so they do not wait.
bool Worker::State::is_too_far_ahead(const Flow& ahead, std::uint64_t chunk) {
  Stream& stream = streams_[ahead.stream];
  if (chunk < stream.abreast_until || options_.sites[ahead.site].in_memory) return false;
  std::uint64_t slowest = chunk;
  std::uint64_t windows = 0;
  for (const std::uint8_t site : driven_) {
    if (options_.sites[site].in_memory) continue;
    const Flow& each = flow(ahead.stream, site);
    slowest = std::min(slowest, stripe_.chunk_at(each.site, each.next_chunk));
    windows += each.window.size();
  }
  stream.abreast_until = slowest + kWindowsAhead * windows;
  return chunk >= stream.abreast_until;
}

// Ranks cannot wait for one another in a circle, because a chunk depends only on chunks of earlier
// calls, and each flow sends its chunks in the order of calls.
bool Worker::State::has_what_it_needs(const Transfer& transfer, std::uint64_t chunk) const {
  if (!drives_all()) return !transfer.waits_for_release;
  if (transfer.after_transfer == 0) return true;
  const Stream& stream = streams_[transfer.after_stream];
  const std::uint64_t before = transfer.after_transfer - 1;
  if (stream.is_done(before)) return true;
  return transfer.request.codes != nullptr && before < stream.numbered &&
         has_codes(transfer, chunk);
}

// Requires: the chunks of the transfer that brings the codes have numbers.
bool Worker::State::has_codes(const Transfer& transfer, std::uint64_t chunk) const {
  const Transfer& agreement = streams_[transfer.after_stream].at(transfer.after_transfer - 1);
  const std::uint32_t shift = transfer.request.layout.block_shift();
  const std::uint64_t first_block = chunk * transfer.chunk_elements >> shift;
  const std::uint64_t last_block = ((chunk + 1) * transfer.chunk_elements - 1) >> shift;
  // The last chunk may be shorter.
  const std::uint64_t last =
      std::min((2 * last_block + 1) / agreement.chunk_elements, agreement.chunk_count - 1);
  for (std::uint64_t i = 2 * first_block / agreement.chunk_elements; i <= last; ++i) {
    if (!is_chunk_done(transfer.after_stream, agreement.first_chunk + i)) return false;
  }
  return true;
}

// Takes the chunk's number in the stream. A site's slots are used in turn, so the number of chunks
// sent to the site since then shows which slot the chunk has.
bool Worker::State::is_chunk_done(StreamName name, std::uint64_t chunk) const {
  const Stripe::Place place = stripe_.place_of(chunk);
  const Flow& flow = this->flow(name, place.site);
  const std::uint64_t sent = stripe_.count_before(place.site, flow.next_chunk);
  if (sent <= place.before) return false;
  const std::uint64_t back = sent - place.before;
  const std::size_t slots = flow.slots.size();
  if (back > slots) return true;  // a later chunk has its slot
  return flow.slots[(flow.next_slot + slots - back) % slots].state == WorkerSlot::State::idle;
}

// Puts the flow's next chunk on its slot.
std::uint16_t Worker::State::take_next_chunk(Flow& flow, bool pauses) {
  const std::uint16_t index = flow.next_slot;
  flow.plan = {};
  WorkerSlot& slot = flow.slots[index];
  CHECK(slot.state == WorkerSlot::State::idle);
  slot.transfer = flow.next_transfer;
  slot.chunk = stripe_.chunk_at(flow.site, flow.next_chunk) -
               streams_[flow.stream].at(flow.next_transfer).first_chunk;
  ++slot.round;
  slot.sends = slot.tries = 0;
  slot.confirmed = false;
  slot.loss_noted = false;
  slot.asks = false;
  slot.overtaken = false;
  slot.realigned = false;
  slot.alone = pauses;
  CHECK_THAT(slot.chunk, <, streams_[flow.stream].at(slot.transfer).chunk_count);
  if (flow.in_flight++ == 0) flow.burst_confirmed = false;
  stripe_.step(flow.site, flow.next_chunk);
  flow.next_slot =
      index + 1U == flow.slots.size() ? std::uint16_t{0} : static_cast<std::uint16_t>(index + 1);
  return index;
}

bool Worker::State::has_more(const Flow& flow) const {
  return flow.stream == bulk_stream &&
         stripe_.chunk_at(flow.site, flow.next_chunk) < streams_[bulk_stream].next_chunk;
}

// Prefetches the elements that this flow will most likely send next. With several sites they do not
// follow the previous ones in memory, so the processor does not prefetch them itself.
void Worker::State::expect_next_chunk(const Flow& flow) const {
  const Stream& stream = streams_[flow.stream];
  if (flow.next_transfer >= stream.numbered) return;
  const Transfer& transfer = stream.at(flow.next_transfer);
  const std::uint64_t chunk = stripe_.chunk_at(flow.site, flow.next_chunk) - transfer.first_chunk;
  if (!transfer.contributes || chunk >= transfer.chunk_count) return;
  const std::size_t bytes =
      std::size_t{transfer.chunk_elements} * transfer.request.codec->element_bytes;
  bring_near(transfer.request.input + chunk * bytes, bytes);
}

Header Worker::State::header_of(const Chunk& chunk, Kind kind) const {
  const Site& site = sites_[chunk.flow.site];
  Header header;
  header.kind = kind;
  header.worker = site.worker;
  header.job = site.job;
  header.slot = static_cast<std::uint16_t>(chunk.flow.first_slot + chunk.index);
  header.epoch = site.epoch;
  header.round = chunk.slot.round;
  header.signature = signature_of(chunk);
  if (kind == Kind::add) header.contributors = {1, 1, rank_digest(options_.rank)};
  return header;
}

std::size_t Worker::State::write_chunk(const Chunk& chunk, std::span<std::byte> out) {
  const bool contributes = chunk.transfer.contributes;
  if (chunk.slot.sends == 0) {
    ++(contributes ? counters_.sent_data : counters_.sent_skip);
  } else if (!chunk.slot.asks) {
    ++counters_.resent;
  }
  if (contributes && !chunk.slot.asks) {
    const bool is_thin = sends_sparse(chunk.flow, chunk.transfer) && !chunk.slot.realigned;
    if (is_thin) return write_thin(chunk, out);
    return may_stay_in_input(chunk) ? write_head(chunk, out) : write_whole(chunk, out);
  }
  if (chunk.slot.asks) ++counters_.sent_query;
  write_header(header_of(chunk, chunk.slot.asks ? Kind::query : Kind::skip), out);
  return INFOLD_HEADER_BYTES;
}

std::size_t Worker::State::write_whole(const Chunk& chunk, std::span<std::byte> out) {
  const TransferRequest& request = chunk.transfer.request;
  const ElementLayout layout = request.layout;
  Header header = header_of(chunk, Kind::add);
  const std::uint16_t* codes = request.codes;
  if (codes != nullptr) codes += chunk.range.first >> layout.block_shift();
  if (chunk.slot.realigned) codes = &chunk.flow.floors[std::size_t{chunk.index} * blocks_max_];
  std::byte* const exponents = out.data() + INFOLD_HEADER_BYTES;
  std::byte* const elements = exponents + layout.exponent_bytes(chunk.range.elements);
  const bool specials = request.codec->encode(request.context, request.input, chunk.range, codes,
                                              exponents, elements);
  if (chunk.transfer.is_widened()) {
    widen_elements(chunk.transfer.codec_bytes, chunk.range.elements, elements);
  }
  if (options_.sites[chunk.flow.site].is_big_endian) {
    reverse_elements(elements, chunk.range.elements, layout.element_bytes(), elements);
  }
  expect_next_chunk(chunk.flow);
  if (specials && layout.is_block_float()) header.flags |= INFOLD_FLAG_SPECIALS;
  write_header(header, out);
  return INFOLD_HEADER_BYTES + layout.payload_bytes(chunk.range.elements);
}

// Only the payload of a first send may stay in the input, because its result cannot come before it
// has been sent. While a repeat waits to be sent, a result may overwrite the input, so a repeat is
// copied.
bool Worker::State::may_stay_in_input(const Chunk& chunk) const {
  return takes_payload_ == Payload::in_input && chunk.slot.sends == 0 &&
         chunk.transfer.request.codec->copies && !chunk.transfer.is_widened() &&
         !options_.sites[chunk.flow.site].is_big_endian;
}

std::size_t Worker::State::write_head(const Chunk& chunk, std::span<std::byte> out) {
  const TransferRequest& request = chunk.transfer.request;
  const std::size_t bytes = request.codec->element_bytes;
  payload_ = {request.input + chunk.range.first * bytes, chunk.range.elements * bytes};
  expect_next_chunk(chunk.flow);
  write_header(header_of(chunk, Kind::add), out);
  return INFOLD_HEADER_BYTES;
}

void Worker::State::note_sent(Flow& flow, std::uint16_t index, base::Instant now) {
  WorkerSlot& slot = flow.slots[index];
  CHECK(slot.state != WorkerSlot::State::waiting);
  slot.state = WorkerSlot::State::waiting;
  slot.asks = false;
  slot.opened_burst = !flow.burst_confirmed;
  slot.sent_at = now;
  if (slot.sends == 0) slot.first_sent_at = now;
  if (slot.sends < 0xFFFF) ++slot.sends;
  if (slot.tries < 0xFFFF) ++slot.tries;
  flow.waiting.push_back(flow.slots, index);
  if (flow.timeout_at == base::Instant::never()) arm(flow, now);
}

base::Duration Worker::State::wait_after(const RoundTrip& path, std::uint32_t repeats) {
  const std::uint32_t doublings = std::min<std::uint32_t>(repeats, kBackoffMax);
  return std::min(base::Duration{path.timeout().ns << doublings},
                  std::max(path.timeout(), kSilenceMax));
}

// Makes the wait longer by up to an eighth, so that workers do not send in step.
base::Duration Worker::State::spread(base::Duration wait) {
  const auto eighth = static_cast<std::uint64_t>(wait.ns) / 8;
  return wait + base::Duration{static_cast<std::int64_t>(prng_.below(eighth + 1))};
}

// Each flow has one timer, which restarts at any progress and backs off while there is none.
// Silence is blamed on the network, so that the worker soon tries again. It keeps backing off only
// for chunks that wait for a late worker.
void Worker::State::arm(Flow& flow, base::Instant now) {
  if (flow.in_flight == 0) {
    flow.timeout_at = base::Instant::never();
    return;
  }
  const RoundTrip& path = sites_[flow.site].path;
  const base::Duration waited = flow.other_is_late
                                    ? std::min(base::Duration{path.timeout().ns << flow.backoff},
                                               std::max(path.timeout(), kLateMax))
                                    : wait_after(path, flow.backoff);
  flow.timeout_at = now + spread(waited);
}

void Worker::State::handle_timeout(base::Instant now) {
  if (now >= earliest_deadline_ && !failure_) {
    const Failure failure = deadline_failure();
    end_job(
        now, failure,
        {AbortReason::deadline, options_.rank, failure.other, ChunkSignature{}, ChunkSignature{}});
    return;
  }
  for (Flow& flow : flows_) {
    if (flow.timeout_at <= now) handle_flow_timeout(flow, now);
  }
}

// Asks about one chunk and retransmits it in turn. One chunk is enough, because the answer shows
// which others are lost. A late worker explains only the silence about chunks that an aggregator
// has from us. For all other chunks the worker therefore asks as soon as after silence.
void Worker::State::handle_flow_timeout(Flow& flow, base::Instant now) {
  if (!flow.waiting.empty()) {
    const std::uint16_t index = chunk_to_ask_about(flow, now);
    const bool asks = flow.backoff % 2 == 0;
    if (!asks) ++counters_.resent_timeout;
    flow.other_is_late = flow.other_is_late && flow.slots[index].confirmed;
    queue_resend(flow, index, asks);
    // At the backoff limit, keep alternating between a query and a retransmission.
    flow.backoff = flow.backoff < kBackoffMax ? flow.backoff + 1 : kBackoffMax - 1;
  }
  arm(flow, now);
  CHECK_THAT(flow.timeout_at.ns, >, now.ns);
}

// Returns the chunk that was sent first among those whose contribution may be lost. If there is
// none, returns in turn the first chunk in the order of calls, for which all others wait, and the
// chunk that was sent first. Shortly before a deadline it prefers the first chunk of the call that
// will be late. The failure of that call then names the ranks that are missing at the end, and not
// those that were missing long ago.
std::uint16_t Worker::State::chunk_to_ask_about(const Flow& flow, base::Instant now) const {
  const auto place = [&flow](std::uint16_t index) {
    return std::pair(flow.slots[index].transfer, flow.slots[index].chunk);
  };
  const base::Duration between = std::max(kLateMax, sites_[flow.site].path.timeout());
  const bool is_near = earliest_deadline_ - now < between * 3;
  const TransferId late = is_near ? late_transfer() : TransferId::none;
  std::uint16_t first = flow.waiting.front();
  std::uint16_t first_late = kNoSlot;
  for (std::uint16_t index = first; index != kNoSlot; index = flow.slots[index].next) {
    if (!flow.slots[index].confirmed) return index;
    if (place(index) < place(first)) first = index;
    if (!is_near || call_of(streams_[flow.stream].at(flow.slots[index].transfer)) != late) continue;
    if (first_late == kNoSlot || place(index) < place(first_late)) first_late = index;
  }
  if (flow.backoff % 2 != 0) return flow.waiting.front();
  return first_late != kNoSlot ? first_late : first;
}

void Worker::State::queue_resend(Flow& flow, std::uint16_t index, bool asks) {
  CHECK(flow.slots[index].state == WorkerSlot::State::waiting);
  flow.waiting.remove(flow.slots, index);
  flow.slots[index].state = WorkerSlot::State::resending;
  flow.slots[index].asks = asks;
  flow.slots[index].overtaken = false;
  flow.resending.push_back(flow.slots, index);
}

std::optional<Worker::Transmit> Worker::State::send_abort(base::Instant now,
                                                          std::span<std::byte> out) {
  CHECK(failure_.has_value());
  for (std::size_t index = 0; index < sites_.size(); ++index) {
    Site& site = sites_[index];
    if (!site.abort_due || now < site.abort_at) continue;
    Header header;
    header.kind = Kind::abort;
    header.worker = site.worker;
    header.job = site.job;
    header.epoch = site.epoch;
    write_header(header, out);
    write_abort(said_, out.data() + INFOLD_HEADER_BYTES);
    site.abort_at = now + wait_after_abort(++site.aborts_sent, site.path.timeout());
    CHECK_THAT(site.aborts_sent, <=, kAbortsMax);
    if (site.aborts_sent == kAbortsMax) site.abort_due = false;
    return Transmit{static_cast<std::uint8_t>(index), INFOLD_HEADER_BYTES + sizeof(infold_abort)};
  }
  return std::nullopt;
}

std::optional<base::Instant> Worker::State::poll_timeout() const {
  base::Instant earliest = earliest_deadline_;
  for (const Flow& flow : flows_) earliest = std::min(earliest, flow.timeout_at);
  for (const Site& site : sites_) {
    if (site.abort_due) earliest = std::min(earliest, site.abort_at);
  }
  if (earliest == base::Instant::never()) return std::nullopt;
  return earliest;
}

}  // namespace infold::core
