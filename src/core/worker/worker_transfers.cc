// SPDX-License-Identifier: Apache-2.0
//
// The way of transfers from submission to event.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/digest.h"
#include "core/worker/worker.h"
#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

using base::Code;

std::vector<std::uint16_t> weights_of(const std::vector<SiteOptions>& sites) {
  std::vector<std::uint16_t> weights;
  for (const SiteOptions& site : sites) weights.push_back(site.weight);
  return weights;
}

std::uint64_t count_chunks(std::uint64_t elements, std::uint32_t chunk_elements) {
  return (elements + chunk_elements - 1) / chunk_elements;
}

// A slot is taken until its chunk is back, and slots are used in turn. A lost chunk is back after
// three round trips (overtaken, asked about, sent again). If the window were larger than a quarter
// of the slots, it would stop the other chunks before that.
std::uint32_t window_most(std::uint32_t slots) {
  return std::max({slots / 4, std::min(slots, Window::kInitial), 1U});
}

// Returns Window::kEvenChunks for a site of the mean weight, and other values in proportion.
// Otherwise each site would get the same rate whatever its share, and the site with the largest
// share would finish last. Sites in memory do not count, because they do not share links.
std::uint32_t even_chunks(const std::vector<SiteOptions>& sites, std::size_t site) {
  std::uint32_t weights = 0;
  std::uint32_t count = 0;
  for (const SiteOptions& each : sites) {
    if (each.in_memory) continue;
    weights += each.weight;
    ++count;
  }
  return std::max(Window::kEvenChunks * sites[site].weight * count / weights, 1U);
}

}  // namespace

bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast;
}

std::uint32_t shape_of(const TransferRequest& request) {
  const std::uint32_t root = has_root(request.collective) ? request.root : 0;
  return static_cast<std::uint32_t>(request.elements) + root * INFOLD_SHAPE_ROOT_FACTOR +
         request.encoding * INFOLD_SHAPE_ENCODING_FACTOR;
}

Worker::State::State(const WorkerOptions& options)
    : options_(options), stripe_(weights_of(options.sites)), prng_(options.seed) {
  CHECK_THAT(options.rank, <, options.world);
  CHECK_THAT(options.transfers_max, >, 0);
  CHECK_THAT(options.small_slots + options.bulk_slots, >, 0);
  CHECK_THAT(options.small_slots + options.bulk_slots, <, kNoSlot);
  for (std::uint32_t rank = 0; rank < options.world; ++rank) {
    world_digest_ += rank_digest(static_cast<std::uint16_t>(rank));
  }
  blocks_max_ =
      chunk_elements({WireFormat::bfp8, DataType::f32}, options.limits) / INFOLD_BLOCK_ELEMENTS;
  CHECK_THAT(blocks_max_, >, 0);
  for (Stream& stream : streams_) stream.ring.resize(std::bit_ceil(options.transfers_max));
  for (const SiteOptions& site : options.sites) {
    sites_.emplace_back();
    sites_.back().worker = site.worker;
    sites_.back().job = site.job;
    sites_.back().epoch = site.epoch;
    const std::size_t index = sites_.size() - 1;
    if (drives(index)) driven_.push_back(static_cast<std::uint8_t>(index));
  }
  for (const StreamName name : {small_stream, bulk_stream}) {
    const std::uint16_t slots = name == small_stream ? options.small_slots : options.bulk_slots;
    for (std::size_t site = 0; site < sites_.size(); ++site) {
      const std::uint32_t most = std::min<std::uint32_t>(options.window_max, window_most(slots));
      Flow& flow = flows_.emplace_back(options.sites[site].in_memory ? Window::fixed(most)
                                       : name == small_stream
                                           ? Window::of_small_tensors(most)
                                           : Window(most, even_chunks(options.sites, site)));
      flow.site = static_cast<std::uint8_t>(site);
      flow.stream = name;
      flow.first_slot = name == small_stream ? 0 : options.small_slots;
      if (!drives(site)) continue;
      flow.slots.resize(slots);
      flow.floors.resize(std::size_t{slots} * blocks_max_);
    }
  }
  events_.resize(options.transfers_max);
  chunk_.resize(options.limits.datagram_bytes_max);
}

base::Result<void> Worker::State::check(const TransferRequest& request) const {
  if (failure_) return base::fail(Code::aborted, "submit", "the job is over; join again");
  if (request.elements > 0 && request.codec == nullptr) {
    return base::fail(Code::unsupported, "submit", "no codec for this type, format and operation");
  }
  if (has_root(request.collective) && request.root >= options_.world) {
    return base::fail(Code::out_of_range, "root", "the root is not a rank of this job",
                      request.root);
  }
  if (chunk_elements(request.layout, options_.limits) == 0) {
    return base::fail(Code::unsupported, "submit",
                      "the path's datagrams are too small for this wire format",
                      options_.limits.datagram_bytes_max);
  }
  // A site that does not know native drops packets of it, even without elements.
  const bool needs_format =
      request.elements > 0 || request.sized_later || request.layout.is_native();
  if (needs_format && !options_.sums(request.layout)) {
    if (request.layout.is_native()) {
      return base::fail(Code::unsupported, "submit",
                        "not all sites of the job sum wire format native, of this type and in this "
                        "job; choose another",
                        static_cast<std::int64_t>(request.layout.dtype));
    }
    return base::fail(Code::unsupported, "submit",
                      "a site of the job does not sum this wire format; choose another",
                      static_cast<std::int64_t>(request.layout.format));
  }
  if (request.elements > 0 && !options_.takes(request.reduction)) {
    return base::fail(Code::unsupported, "submit",
                      "a site of the job does not take this reduction; choose another",
                      static_cast<std::int64_t>(request.reduction));
  }
  if (live_transfers_ + event_count_ >= options_.transfers_max) {
    return base::fail(Code::resource_exhausted, "submit", "too many calls in flight; wait for one",
                      options_.transfers_max);
  }
  if (static_cast<std::uint64_t>(request.after) > last_id_) {
    return base::fail(Code::invalid_argument, "after", "no such transfer");
  }
  return {};
}

base::Result<TransferId> Worker::State::submit(const TransferRequest& asked) {
  TransferRequest request = asked;
  request.layout = layout_on_wire(options_.formats, asked.layout);
  explain_again(request);
  if (const base::Result<void> valid = check(request); !valid) {
    return tl::unexpected(valid.error());
  }
  const std::uint32_t per_chunk = chunk_elements(request.layout, options_.limits);
  const std::uint64_t chunks =
      std::max<std::uint64_t>(1, count_chunks(request.elements, per_chunk));
  const Priority priority = request.sized_later ? Priority::background : request.priority;
  const StreamName name = is_small(options_, priority, chunks) ? small_stream : bulk_stream;
  const bool announced = name == bulk_stream && options_.small_slots > 0;
  if (!has_room(name) || (announced && !has_room(small_stream))) {
    return base::fail(Code::resource_exhausted, "submit",
                      "the oldest call in flight is too far behind; wait for it");
  }
  const bool announces_here = announced && announce(request);
  Transfer& transfer = enqueue(request, name, per_chunk, chunks);
  transfer.codec_bytes = asked.layout.element_bytes();
  transfer.has_size = !request.sized_later;
  number_chunks(streams_[name]);
  transfer.id = TransferId{++last_id_};
  transfer.announced = announces_here;
  takes_part_ = announces_here || transfer.own_chunks > 0;
  if (!takes_part_) {
    transfer.done = true;
    pop_done(name);
    return TransferId{last_id_};
  }
  find_predecessor(transfer);
  ++live_transfers_;
  earliest_deadline_ = std::min(earliest_deadline_, request.deadline);
  return TransferId{last_id_};
}

bool is_small(const WorkerOptions& options, Priority priority, std::uint64_t chunks) {
  if (options.small_slots == 0 || options.bulk_slots == 0) return options.bulk_slots == 0;
  switch (priority) {
    case Priority::urgent: return true;
    case Priority::background: return false;
    case Priority::automatic: break;
  }
  return chunks <= std::uint64_t{options.small_slots} * options.sites.size();
}

bool Worker::State::has_room_for(std::uint32_t transfers) const {
  if (live_transfers_ + event_count_ + transfers > options_.transfers_max) return false;
  return std::all_of(streams_.begin(), streams_.end(), [&](const Stream& stream) {
    return stream.end - stream.first + transfers <= stream.ring.size();
  });
}

bool Worker::State::has_room(StreamName name) const {
  return streams_[name].end - streams_[name].first < streams_[name].ring.size();
}

// A bulk tensor also takes a place in the small stream, for a chunk without elements.
// Otherwise ranks could not notice that they disagree about which stream a call belongs to. Returns
// whether this worker drives the site of that chunk.
bool Worker::State::announce(const TransferRequest& request) {
  Transfer& announcement = enqueue(request, small_stream, 0, 1);
  announcement.contributes = false;
  announcement.announces = streams_[bulk_stream].end + 1;
  number_chunks(streams_[small_stream]);
  if (announcement.own_chunks > 0) return true;
  announcement.done = true;
  pop_done(small_stream);
  return false;
}

Worker::State::Transfer& Worker::State::enqueue(const TransferRequest& request, StreamName name,
                                                std::uint32_t per_chunk, std::uint64_t chunks) {
  Stream& stream = streams_[name];
  CHECK(has_room(name));
  CHECK_THAT(chunks, >, 0U);
  Transfer& transfer = stream.at(stream.end);
  transfer = Transfer{};
  transfer.request = request;
  transfer.chunk_count = chunks;
  transfer.own_chunks = kNotKnown;
  transfer.chunk_elements = per_chunk;
  transfer.contributes =
      request.elements > 0 && request.collective != Collective::barrier &&
      (request.collective != Collective::broadcast || request.root == options_.rank);
  transfer.signature.set_layout(request.layout);
  transfer.signature.set_operation(request.collective, request.reduction);
  transfer.signature.shape = shape_of(request);
  ++stream.end;
  return transfer;
}

// Numbers chunks as far as sizes are known. The order of calls numbers the chunks, whenever the
// calls are ready.
void Worker::State::number_chunks(Stream& stream) {
  for (; stream.numbered < stream.end; ++stream.numbered) {
    Transfer& transfer = stream.at(stream.numbered);
    if (!transfer.has_size) return;
    transfer.first_chunk = stream.next_chunk;
    stream.next_chunk += transfer.chunk_count;
    count_own_chunks(transfer);
  }
}

void Worker::State::count_own_chunks(Transfer& transfer) const {
  transfer.own_chunks = drives_all() ? transfer.chunk_count : 0;
  if (drives_all()) return;
  const std::uint64_t end = transfer.first_chunk + transfer.chunk_count;
  for (const std::uint8_t site : driven_) {
    transfer.own_chunks +=
        stripe_.count_before(site, end) - stripe_.count_before(site, transfer.first_chunk);
  }
}

void Worker::State::release(TransferId id) {
  for (Stream& stream : streams_) {
    for (std::uint64_t place = stream.first; place < stream.end; ++place) {
      Transfer& transfer = stream.at(place);
      if (transfer.request.after == id) transfer.waits_for_release = false;
    }
  }
}

void Worker::State::set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present) {
  if (failure_) return;
  const StreamName name = is_small(options_, Priority::background, 0) ? small_stream : bulk_stream;
  Stream& stream = streams_[name];
  std::uint64_t place = stream.numbered;
  while (place < stream.end && stream.at(place).id != id) ++place;
  CHECK_THAT(place, <, stream.end);
  Transfer& transfer = stream.at(place);
  CHECK(!transfer.has_size);
  transfer.has_size = true;
  transfer.request.elements = elements;
  transfer.request.present = present;
  transfer.signature.shape = shape_of(transfer.request);
  transfer.chunk_count = count_chunks(elements, transfer.chunk_elements);
  if (transfer.chunk_count == 0) transfer.own_chunks = 0;
  const std::uint64_t known = stream.numbered;
  number_chunks(stream);
  // A transfer without elements may be done before earlier transfers have a size.
  if (place >= stream.numbered) end_if_done(transfer, name);
  for (place = known; place < stream.numbered; ++place) {
    if (!stream.at(place).done) end_if_done(stream.at(place), name);
  }
}

// A transfer that is no longer in a ring is done, and after_transfer = 0 means the same.
void Worker::State::find_predecessor(Transfer& transfer) {
  if (transfer.request.after == TransferId::none) return;
  transfer.waits_for_release = !drives_all();
  for (const StreamName other : {small_stream, bulk_stream}) {
    for (std::uint64_t place = streams_[other].first; place < streams_[other].end; ++place) {
      if (streams_[other].at(place).id != transfer.request.after) continue;
      transfer.after_stream = other;
      transfer.after_transfer = place + 1;
    }
  }
}

Worker::State::Chunk Worker::State::chunk_on(Flow& flow, std::uint16_t index) {
  WorkerSlot& slot = flow.slots[index];
  Transfer& transfer = streams_[flow.stream].at(slot.transfer);
  const std::uint64_t first = slot.chunk * transfer.chunk_elements;
  CHECK_THAT(first, <=, transfer.request.elements);
  const std::uint64_t left = transfer.request.elements - first;
  const auto elements =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(left, transfer.chunk_elements));
  return {flow, slot, index, transfer, {first, elements}};
}

ChunkSignature Worker::State::signature_of(const Chunk& chunk) const {
  ChunkSignature signature = chunk.transfer.signature;
  signature.elements = static_cast<std::uint16_t>(chunk.range.elements);
  return signature;
}

Contributors Worker::State::expected_contributors(const Transfer& transfer) const {
  const TransferRequest& request = transfer.request;
  const bool only_skips = request.elements == 0 || transfer.announces != 0;
  if (only_skips || request.collective == Collective::barrier) return {};
  if (request.collective == Collective::broadcast) return {1, 1, rank_digest(request.root)};
  return {options_.world, options_.world, world_digest_};
}

// Frees the slot of a chunk whose result is in the tensor. Ends the transfer if this was the last
// chunk.
void Worker::State::finish_chunk(Chunk chunk, const Contributors& contributors) {
  Transfer& transfer = chunk.transfer;
  CHECK(chunk.slot.state != WorkerSlot::State::idle);
  CHECK_THAT(chunk.flow.in_flight, >, 0U);
  CHECK(!transfer.done);
  chunk.slot.state = WorkerSlot::State::idle;
  --chunk.flow.in_flight;
  ++transfer.done_chunks;
  if (transfer.announces == 0) {
    transfer.ranks_summed = contributors.count;
    end_if_done(transfer, chunk.flow.stream);
    return;
  }
  transfer.done = true;
  pop_done(small_stream);
  Transfer& announced = streams_[bulk_stream].at(transfer.announces - 1);
  CHECK(announced.announced && !announced.done);
  ++announced.done_chunks;
  end_if_done(announced, bulk_stream);
}

void Worker::State::pop_done(StreamName name) {
  Stream& stream = streams_[name];
  while (stream.first < stream.end && stream.at(stream.first).done) ++stream.first;
}

void Worker::State::end_if_done(Transfer& transfer, StreamName name) {
  if (transfer.own_chunks == kNotKnown) return;
  if (transfer.done_chunks < transfer.own_chunks + (transfer.announced ? 1 : 0)) return;
  CHECK(!transfer.done);
  CHECK_THAT(live_transfers_, >, 0U);
  CHECK_THAT(event_count_, <, events_.size());
  transfer.done = true;
  --live_transfers_;
  events_[(first_event_ + event_count_++) % events_.size()] = {transfer.id, std::nullopt,
                                                               transfer.ranks_summed};
  pop_done(name);

  if (transfer.request.deadline != earliest_deadline_) return;
  earliest_deadline_ = base::Instant::never();
  for (const Stream& each : streams_) {
    for (std::uint64_t place = each.first; place < each.end; ++place) {
      if (each.at(place).done) continue;
      earliest_deadline_ = std::min(earliest_deadline_, each.at(place).request.deadline);
    }
  }
}

std::optional<Event> Worker::State::poll_event() {
  if (event_count_ == 0) return std::nullopt;
  const Event event = events_[first_event_];
  first_event_ = (first_event_ + 1) % events_.size();
  --event_count_;
  return event;
}

std::size_t Worker::State::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + events_.capacity() * sizeof(Event) + chunk_.capacity();
  for (const Stream& stream : streams_) bytes += stream.ring.capacity() * sizeof(Transfer);
  for (const Flow& flow : flows_) {
    bytes += sizeof(Flow) + flow.slots.capacity() * sizeof(WorkerSlot) +
             flow.floors.capacity() * sizeof(std::uint16_t);
  }
  return bytes;
}

std::uint64_t Worker::State::digest() const {
  base::Digest digest;
  for (const Flow& flow : flows_) {
    digest.add(flow.next_chunk.period_start + flow.next_chunk.turn);
    digest.add(flow.grain);
    for (const WorkerSlot& slot : flow.slots) {
      digest.add(static_cast<std::uint64_t>(slot.state) | std::uint64_t{slot.realigned} << 9 |
                 std::uint64_t{slot.asks} << 10 | std::uint64_t{slot.round} << 32);
      digest.add(slot.transfer * 0x10001 + slot.chunk);
    }
    if (!flow.floors.empty()) digest.add(std::as_bytes(std::span(flow.floors)));
  }
  for (const Stream& stream : streams_) {
    digest.add(stream.end - stream.first);
    digest.add(stream.end - stream.numbered);
    for (std::uint64_t place = stream.first; place < stream.end; ++place) {
      digest.add(stream.at(place).done_chunks << 1 | stream.at(place).waits_for_release);
    }
  }
  for (const Site& site : sites_) digest.add(site.abort_due);
  digest.add(failure_ ? 1 + static_cast<std::uint64_t>(failure_->error.code) : 0);
  return digest.value();
}

}  // namespace infold::core
