// SPDX-License-Identifier: Apache-2.0
//
// The slot rules: which chunk a datagram belongs to, whether it is new, and how it is answered
// (spec section 5). aggregator_sum.cc sums its elements, and aggregator_end.cc ends a job.
#include <algorithm>

#include "base/aligned.h"
#include "base/check.h"
#include "core/aggregator/aggregator.h"
#include "core/packet/sparse_body.h"

namespace infold::core {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Returns how far apart codes may lie, by lane width. The spread of 64-bit lanes is that of R-033.
// Narrower lanes hold exactly one contribution of each direct worker, which is at most 2^(top+1)
// before it is shifted up, so that their sums do not overflow.
std::array<std::int32_t, kLaneWidths> lane_spreads(WireFormat format,
                                                   const AggregatorOptions& options) {
  const ElementLayout layout = {format, DataType::f32};
  const auto workers = static_cast<std::uint32_t>(options.workers.size());
  std::array<std::int32_t, kLaneWidths> spreads = {-1, -1,
                                                   exponent_spread_max(layout, options.world)};
  for (const LaneWidth width : {LaneWidth::bits16, LaneWidth::bits32}) {
    if (lane_bytes(width) <= layout.element_bytes()) continue;
    const auto bits = static_cast<std::int32_t>(8 * lane_bytes(width));
    spreads[lane_index(width)] = bits - 64 + exponent_spread_max(layout, workers);
  }
  return spreads;
}

}  // namespace

Aggregator::Aggregator(const AggregatorOptions& options)
    : options_(options),
      arithmetic_(options.arithmetic != nullptr ? options.arithmetic : &scalar_arithmetic()),
      copies_(options.slot_count * 2U),
      asking_(has_parent() ? options.slot_count : 0U),
      asked_since_(asking_.size()),
      outbox_(std::max<std::size_t>(INFOLD_SPARSE_CHUNKS_MAX, options.workers.size()) + 2 +
              (has_parent() ? kRowPartsMax : 0U)) {
  CHECK(!options.workers.empty());
  CHECK_THAT(options.workers.size(), <=, INFOLD_WORKERS_MAX);
  CHECK_THAT(options.slot_count, >, 0);
  CHECK_THAT(options.datagram_bytes_max, >=, INFOLD_HEADER_BYTES);
  for (std::size_t i = 0; i < options.workers.size(); ++i) {
    const auto worker = static_cast<std::uint8_t>(i);
    expected_.add(worker);
    if (is_aggregator(options, worker)) aggregators_.add(worker);
    spoken_for_.push_back(contributors_of(options.workers[i]));
  }
  for (const WireFormat format : {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32}) {
    spread_[mantissa_index(format)] = lane_spreads(format, options);
  }
  // The state is that of slots whose chunks 0 and -1 have been summed, so that the odd copy takes
  // chunk 1 next.
  for (std::size_t slot = 0; slot < options.slot_count; ++slot) copies_[slot * 2 + 1].round = ~0U;

  const std::uint32_t body = options.datagram_bytes_max - INFOLD_HEADER_BYTES;
  elements_max_ = std::min({options.elements_max, body, std::uint32_t{INFOLD_ELEMENTS_MAX}});
  elements_max_ = static_cast<std::uint32_t>(round_up(elements_max_, base::kCacheLineBytes));
  blocks_max_ =
      static_cast<std::uint32_t>(round_up(elements_max_ / INFOLD_BLOCK_ELEMENTS, kBlocksTogether));
  stored_bytes_max_ =
      static_cast<std::uint32_t>(round_up(options.datagram_bytes_max, base::kCacheLineBytes));
  datagrams_ = base::ZeroedArray<std::byte>(copies_.size() * stored_bytes_max_ + kBeforeDatagrams);
  codes_ = base::ZeroedArray<std::uint16_t>(copies_.size() * blocks_max_ * 2);
  specials_ = base::ZeroedArray<std::uint64_t>(copies_.size() * (elements_max_ / 64) * 2);
  // Elements of native have at least two bytes, and f64's rows of bins take the most memory.
  const std::uint32_t payload = std::min<std::uint32_t>(body, INFOLD_PAYLOAD_BYTES_MAX);
  const std::uint32_t natives_max = std::min(elements_max_, payload / 2);
  exact_ = ExactSums({.sums = static_cast<std::uint32_t>(copies_.size()),
                      .wide_sums = options.slot_count,
                      .elements_max = natives_max,
                      .memory_bytes = std::size_t{elements_max_} * lane_bytes(LaneWidth::bits64),
                      .bin_words_max = bin_words_max(payload),
                      .arithmetic = arithmetic_->exact});
  if (!aggregators_.is_empty()) parts_.resize(copies_.size() * options.workers.size());
  lows_.resize(natives_max);
  if (has_parent()) {
    part_datagrams_ = base::ZeroedArray<std::byte>(std::size_t{kRowPartsMax} * stored_bytes_max_);
  }
  cleaned_.resize(elements_max_ * sizeof(std::int32_t));
  whole_.resize(stored_bytes_max_);
  // A sum of present blocks may begin at any block, and reads steps in whole strips.
  steps_.resize(std::size_t{blocks_max_} + kBlocksTogether);
  // One strip more than the codes can fill, because the strip after the last whole one is cleared.
  packet_codes_.resize(std::size_t{blocks_max_} * 2 + kBlocksTogether);
}

Verdict Aggregator::handle_datagram(std::span<const std::byte> datagram, Source source) {
  Packet packet;
  const bool is_in_order = parse_at_aggregator(datagram, packet) == Malformed::none;
  return is_in_order ? handle(packet, source) : count_malformed();
}

Verdict Aggregator::handle(const Packet& packet, Source source) {
  outbox_count_ = outbox_sent_ = row_parts_ = 0;
  const Verdict verdict = dispatch(packet, source);
  ++counters_[static_cast<std::size_t>(verdict)];
  count_input();
  return verdict;
}

Verdict Aggregator::count_malformed() {
  outbox_count_ = outbox_sent_ = 0;
  ++counters_[static_cast<std::size_t>(Verdict::dropped_malformed)];
  return Verdict::dropped_malformed;
}

std::optional<Aggregator::Transmit> Aggregator::poll_transmit() {
  if (outbox_sent_ == outbox_count_) return std::nullopt;
  return outbox_[outbox_sent_++];
}

// Checks in the order of R-007, which the counters show.
Verdict Aggregator::dispatch(const Packet& packet, Source source) {
  const Header& header = packet.header;
  if (const auto verdict = turn_away(header, source, options_)) return *verdict;
  const bool down = travels_down(header.kind);
  if (header.kind == Kind::abort || header.kind == Kind::aborted) return handle_abort(packet);
  if (header.slot >= options_.slot_count) return Verdict::dropped_bad_slot;
  if (!fits_limits(packet)) return Verdict::dropped_limits;
  if (!down && !fits_worker(header)) return Verdict::dropped_malformed;
  if (packet.is_sparse()) return handle_sparse(packet);
  return down ? handle_from_parent(packet) : handle_from_below(packet);
}

// A contribution must speak for the ranks that its worker number stands for. An aggregator may
// speak for only one of its ranks where not all ranks have data. Exact sums come only from
// aggregators.
bool Aggregator::fits_worker(const Header& header) const {
  if (header.kind == Kind::skip || header.kind == Kind::query) return true;
  const bool is_aggregator = aggregators_.has(header.worker);
  if (header.kind != Kind::add && !is_aggregator) return false;
  if (header.contributors == spoken_for_[header.worker]) return true;
  const Contributors& all = spoken_for_[header.worker];
  return header.signature.collective() >= Collective::broadcast && header.contributors.count == 1 &&
         header.contributors.weight == 1 && all.count > 1;
}

// Handles one chunk after the other, like packets of one chunk each.
Verdict Aggregator::handle_sparse(const Packet& packet) {
  SparseReader reader(packet);
  if (packet.header.slot + reader.chunks() > options_.slot_count) return Verdict::dropped_bad_slot;
  std::optional<Verdict> said;
  for (std::uint32_t chunk = 0; chunk < reader.chunks(); ++chunk) {
    const Verdict verdict = handle_from_below(reader.next());
    const bool is_news = !said || verdict < Verdict::dropped_malformed;
    if (said) ++counters_[static_cast<std::size_t>(is_news ? *said : verdict)];
    if (is_news) said = verdict;
    if (verdict == Verdict::job_ended || verdict == Verdict::answered_ended) break;
  }
  return *said;
}

bool Aggregator::fits_limits(const Packet& packet) const {
  const ChunkSignature& signature = packet.header.signature;
  const ElementLayout layout = signature.layout();
  if (signature.elements > std::min(elements_max_, options_.elements_max)) return false;
  const bool widens = has_parent() && layout.has_partial_sums();
  const Kind largest = widens ? Kind::partial : Kind::result;
  return datagram_bytes(largest, layout, signature.elements, true) <= options_.datagram_bytes_max;
}

// The round check. Without it a late repeat of an earlier chunk would be summed into the
// chunk that now uses the copy.
Aggregator::Turn Aggregator::turn_of(const Packet& packet, const Copy& copy, Copy& other) const {
#ifdef INFOLD_CANARY_WITHOUT_ROUND_CHECK
  // The original protocol does this instead. It is built only to show that the search finds the
  // flaw.
  const std::uint8_t worker = packet.header.worker;
  other.seen.remove(worker);
  const bool fresh = copy.phase == Phase::done && !copy.seen.has(worker);
  return fresh ? Turn::next : Turn::current;
#else
  const auto ahead = static_cast<std::int32_t>(packet.header.round - copy.round);
  if (ahead < 0) return Turn::stale;
  if (ahead == 0)
    return copy.stored_bytes == 0 && copy.phase == Phase::done ? Turn::stale : Turn::current;
  const bool turn_has_come = ahead == 2 && copy.phase == Phase::done &&
                             other.phase == Phase::done && other.round + 1 == packet.header.round;
  return turn_has_come ? Turn::next : Turn::early;
#endif
}

// Checks the copy that a packet belongs to. A copy stores nothing for repeats before it has sent
// it.
void Aggregator::assert_invariants(const Copy& copy) const {
#ifndef INFOLD_CANARY_WITHOUT_ROUND_CHECK
  CHECK(copy.phase != Phase::collecting || !has_all(copy));
  CHECK(copy.phase != Phase::forwarded || (has_all(copy) && has_parent()));
#endif
  CHECK(copy.phase != Phase::collecting || copy.stored_bytes == 0);
  CHECK_THAT(copy.stored_bytes, <=, stored_bytes_max_);
}

Verdict Aggregator::handle_from_below(const Packet& packet) {
  const Header& header = packet.header;
  Copy& copy = copy_of(header.slot, header.round);
  Copy& other = copy_of(header.slot, header.round + 1);
  const Arrays arrays = arrays_of(header.slot, header.round);
  assert_invariants(copy);
  const Turn turn = turn_of(packet, copy, other);
  if (turn == Turn::stale) return Verdict::dropped_stale_round;
  if (turn == Turn::early) return Verdict::dropped_early_round;
  const bool is_open = turn == Turn::next || copy.phase == Phase::collecting;
  const bool is_later_part = is_exact_sum(header) && read_exact(packet).part != 0;
  if (abort_ && is_open) {  // complete chunks are still handed out
    if (is_later_part) return Verdict::dropped_part;
    send_end(To::worker, header.worker);
    return Verdict::answered_ended;
  }
  if (turn == Turn::next && header.kind == Kind::query) {
    send_pending(packet, Copy{});
    return Verdict::answered_pending;
  }
  if (turn == Turn::next) {
    begin(packet, copy, arrays);
    assert_turns(copy, other);
  }
  const bool repeat = header.kind == Kind::query || copy.seen.has(header.worker);
  // Workers ask about one chunk at a time, so the network must have repeated this bundle.
  if (repeat && packet.is_bundled) return Verdict::dropped_repeat;
  // A child repeats all parts of its sum. If each one were answered with all parts of ours, a
  // question would cost the product of the parts of all levels above.
  if (repeat && is_later_part) return Verdict::dropped_part;
  const Verdict verdict =
      repeat ? handle_repeat(packet, copy, arrays) : handle_contribution(packet, copy, arrays);
  CHECK(copy.phase != Phase::done || copy.stored_bytes >= INFOLD_HEADER_BYTES);
  return verdict;
}

void Aggregator::begin(const Packet& packet, Copy& copy, Arrays arrays) {
  CHECK(copy.phase == Phase::done);
  CHECK_THAT(packet.header.signature.elements, <=, elements_max_);
  exact_.end(number_of(copy));
  copy = Copy{};
  copy.phase = Phase::collecting;
  copy.round = packet.header.round;
  copy.signature = packet.header.signature;
  copy.first_worker = packet.header.worker;
  const std::uint32_t blocks = copy.signature.layout().block_count(copy.signature.elements);
  if (copy.signature.layout().is_block_float()) {
    std::fill_n(arrays.low_codes, blocks, std::uint16_t{0});
    std::fill_n(arrays.high_codes, blocks, std::uint16_t{0});
  }
}

Verdict Aggregator::handle_contribution(const Packet& packet, Copy& copy, Arrays arrays) {
  const Header& header = packet.header;
  CHECK(copy.phase == Phase::collecting);
  if (header.signature != copy.signature) {
    return end_job({AbortReason::mismatch, options_.workers[header.worker].first,
                    options_.workers[copy.first_worker].first, header.signature, copy.signature});
  }
  const bool is_part = is_exact_sum(header);
  if (!is_part && has_some_part(copy, header.worker)) return Verdict::dropped_malformed;
  if (is_part) {
    switch (take_exact_part(packet, copy)) {
      case PartNews::malformed: return Verdict::dropped_malformed;
      case PartNews::repeat: return Verdict::dropped_repeat;
      case PartNews::some: return Verdict::contributed;
      case PartNews::all: break;
    }
  }
  copy.seen.add(header.worker);
  copy.contributors += header.contributors;
  copy.came_whole |= !packet.is_sparse();
  copy.came_in_quarters |= packet.in_quarters;
  if (header.kind != Kind::skip && !is_part) add_payload(packet, copy, arrays);
  if (!has_all(copy)) return Verdict::contributed;
  return complete(copy, arrays, header.slot, header.worker);
}

// A repeat means that its sender lacks our answer, or asks for the state of the chunk.
Verdict Aggregator::handle_repeat(const Packet& packet, Copy& copy, Arrays arrays) {
  const std::span<const std::byte> stored(arrays.datagram, copy.stored_bytes);
  switch (copy.phase) {
    case Phase::done: {
      const bool is_brief = copy.brief_for == packet.header.worker;
      send(To::worker, packet.header.worker, is_brief ? stored.first(INFOLD_HEADER_BYTES) : stored);
      return Verdict::replayed;
    }
    case Phase::forwarded:
      asking_[packet.header.slot].add(packet.header.worker);
      if (abort_) asking_for_end_.add(packet.header.worker);
      if (!may_go_up_again(copy, packet.header)) return Verdict::dropped_repeat;
      ++copy.repeats;
      send_stored_to_parent(copy, arrays);
      return Verdict::forwarded_again;
    case Phase::collecting: break;
  }
  send_pending(packet, copy);
  return Verdict::answered_pending;
}

Verdict Aggregator::complete(Copy& copy, Arrays arrays, std::uint16_t slot, std::uint8_t worker) {
  const ElementLayout layout = copy.signature.layout();
  CHECK(copy.phase == Phase::collecting);
  CHECK_THAT(copy.stored_bytes, ==, 0U);
  Header header = job_header(Kind::result);
  header.worker = has_parent() ? *options_.parent_worker : worker;
  header.slot = slot;
  header.round = copy.round;
  header.signature = copy.signature;
  header.contributors = copy.contributors;
  if (copy.overrange) {
    header.kind = has_parent() ? Kind::overrange : Kind::realign;
  } else if (has_parent()) {
    header.kind = !copy.has_lanes             ? Kind::skip
                  : layout.has_partial_sums() ? Kind::partial
                                              : Kind::add;
  }

  std::byte* const body = arrays.datagram + INFOLD_HEADER_BYTES;
  if (copy.overrange) {
    std::fill_n(body, layout.exponent_bytes(copy.signature.elements), std::byte{0});
    write_codes(layout, arrays.high_codes, layout.block_count(copy.signature.elements), body);
  } else if (layout.is_native() && copy.has_lanes) {
    if (!has_parent()) write_exact_result(copy, arrays);
  } else if (header.kind == Kind::partial) {
    write_partial(copy, arrays, header);
  } else if (layout.is_block_float() && copy.has_lanes) {
    write_result(copy, arrays, header);
  }
  copy.stored_bytes = static_cast<std::uint32_t>(
      datagram_bytes(copy.has_lanes || copy.overrange ? header.kind : Kind::skip, layout,
                     copy.signature.elements, (header.flags & INFOLD_FLAG_SPECIALS) != 0));
  if (header.kind == Kind::partial && layout.is_native()) {
    copy.stored_bytes = INFOLD_HEADER_BYTES + write_exact_partial(copy, arrays);
  }
  const bool all_take_quarters = copy.came_in_quarters && !copy.came_whole;
  if (header.kind == Kind::result && all_take_quarters && header.flags == 0) {
    if (const std::uint32_t bytes = leave_out_quarters(copy, arrays); bytes > 0) {
      header.flags |= INFOLD_FLAG_SPARSE;
      copy.stored_bytes = bytes;
    }
  }
  CHECK_THAT(copy.stored_bytes, >=, INFOLD_HEADER_BYTES);
  CHECK_THAT(copy.stored_bytes, <=, options_.datagram_bytes_max);
  write_header(header, {arrays.datagram, INFOLD_HEADER_BYTES});
  copy.phase = has_parent() ? Phase::forwarded : Phase::done;
  if (has_parent()) {
    send_stored_to_parent(copy, arrays);
  } else {
    copy.brief_for = only_sender(header);
    send(To::all_workers, 0, {arrays.datagram, copy.stored_bytes}, copy.brief_for);
  }
  return Verdict::completed;
}

Verdict Aggregator::handle_from_parent(const Packet& packet) {
  const Header& header = packet.header;
  Copy& copy = copy_of(header.slot, header.round);
  if (copy.round != header.round) {
    const bool behind = static_cast<std::int32_t>(header.round - copy.round) < 0;
    return behind ? Verdict::dropped_stale_round : Verdict::dropped_early_round;
  }
  if (copy.phase != Phase::forwarded) return Verdict::dropped_repeat;
  const std::size_t bytes = INFOLD_HEADER_BYTES + packet.body.size();
  const bool is_answer = header.kind != Kind::pending;
  if (header.signature != copy.signature) return Verdict::dropped_malformed;
  if (!is_answer && asking_[header.slot].is_empty()) return Verdict::dropped_repeat;

  // A RESULT or REALIGN with this signature is at most as long as what went up, and a PENDING fits
  // answer_.
  CHECK_THAT(bytes, <=, is_answer ? stored_bytes_max_ : answer_.size());
  std::byte* const stored =
      is_answer ? arrays_of(header.slot, header.round).datagram : answer_.data();
  write_header(header, {stored, INFOLD_HEADER_BYTES});
  std::copy(packet.body.begin(), packet.body.end(), stored + INFOLD_HEADER_BYTES);
  asked_since_[header.slot] = {};
  if (!is_answer) {
    send_to_asking(asking_[header.slot], {stored, bytes});
    return Verdict::answered_pending;
  }
  copy.brief_for = only_sender(header);
  send(To::all_workers, 0, {stored, bytes}, copy.brief_for);
  asking_[header.slot] = {};
  exact_.end(number_of(copy));
  copy.exact_rows = {};
  copy.phase = Phase::done;
  copy.stored_bytes = static_cast<std::uint32_t>(bytes);
  return Verdict::delivered;
}

Header Aggregator::job_header(Kind kind) const {
  Header header;
  header.kind = kind;
  header.job = options_.job;
  header.epoch = options_.epoch;
  return header;
}

// Returns the rank that alone has sent the elements of a result. The digest identifies it, because
// R-014 makes sure that no other rank uses this digest. An aggregator does not count, because its
// ranks need the elements.
std::optional<std::uint8_t> Aggregator::only_sender(const Header& header) const {
  if (!options_.brief_results || !may_be_brief(header)) return std::nullopt;
  for (std::size_t i = 0; i < spoken_for_.size(); ++i) {
    const auto worker = static_cast<std::uint8_t>(i);
    if (spoken_for_[i] == header.contributors && !aggregators_.has(worker)) return worker;
  }
  return std::nullopt;
}

void Aggregator::send(To to, std::uint8_t worker, std::span<const std::byte> datagram,
                      std::optional<std::uint8_t> brief_for) {
  CHECK_THAT(outbox_count_, <, outbox_.size());
  CHECK_THAT(datagram.size(), >=, INFOLD_HEADER_BYTES);
  CHECK(to != To::parent || has_parent());
  outbox_[outbox_count_++] = {to, worker, datagram, brief_for};
}

// Workers that did not ask know already, or will ask. Answering them all would multiply every
// repeat by the size of the job.
void Aggregator::send_to_asking(WorkerSet& asking, std::span<const std::byte> datagram) {
  asking.for_each([&](std::uint8_t worker) { send(To::worker, worker, datagram); });
  asking = {};
}

void Aggregator::send_pending(const Packet& packet, const Copy& copy) {
  std::array<RankRange, INFOLD_WORKERS_MAX> missing;
  std::size_t count = 0;
  for (std::size_t worker = 0; worker < options_.workers.size(); ++worker) {
    if (!copy.seen.has(static_cast<std::uint8_t>(worker))) {
      missing[count++] = options_.workers[worker];
    }
  }
  Header header = job_header(Kind::pending);
  const std::span<const RankRange> named = std::span(missing).first(count);
  const PendingForm form = form_of(options_.pending, named);
  if (form == PendingForm::bits) header.flags |= INFOLD_FLAG_BITS;
  header.worker = packet.header.worker;
  header.slot = packet.header.slot;
  header.round = packet.header.round;
  header.signature = packet.header.signature;
  write_header(header, answer_);
  const std::size_t body =
      write_missing(named, form, options_.world, answer_.data() + INFOLD_HEADER_BYTES);
  send(To::worker, packet.header.worker, {answer_.data(), INFOLD_HEADER_BYTES + body});
}

}  // namespace infold::core
