// SPDX-License-Identifier: Apache-2.0
//
// Passes a packet through the pipeline, stage by stage.
#include "core/adder/adder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/digest.h"
#include "core/packet/integers.h"

namespace infold::core {
namespace {

enum Stage : std::uint32_t {
  kSlot,
  kFormat,
  kShape,
  kFirst,
  kCount,
  kDigest,
  kAnswer,
  kLast,
  kElements,
};

std::uint32_t bit_of(std::uint8_t worker) { return std::uint32_t{1} << worker; }

std::size_t copy_of(const Header& header) { return header.slot * 2U + (header.round & 1); }

std::uint32_t format_word(const ChunkSignature& signature) {
  return std::uint32_t{signature.elements} << 16 | std::uint32_t{signature.format} << 8 |
         signature.operation;
}

ChunkSignature signature_of(std::uint32_t format, std::uint32_t shape) {
  return {static_cast<std::uint16_t>(format >> 16), static_cast<std::uint8_t>(format >> 8),
          static_cast<std::uint8_t>(format), shape};
}

// Loads an element into a register of 32 bits and extends its sign.
std::uint32_t load(const std::byte* elements, std::uint32_t index, std::uint32_t width,
                   bool is_big_endian) {
  std::array<std::byte, sizeof(std::uint32_t)> bytes{};
  std::memcpy(bytes.data(), elements + std::size_t{index} * width, width);
  if (is_big_endian) reverse_elements(bytes.data(), 1, width, bytes.data());
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  const std::uint32_t unused = 32 - 8 * width;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(bits << unused) >> unused);
}

std::uint32_t combine(Reduction reduction, std::uint32_t sum, std::uint32_t element) {
  switch (reduction) {
    case Reduction::min:
      return static_cast<std::uint32_t>(
          std::min(static_cast<std::int32_t>(sum), static_cast<std::int32_t>(element)));
    case Reduction::max:
      return static_cast<std::uint32_t>(
          std::max(static_cast<std::int32_t>(sum), static_cast<std::int32_t>(element)));
    case Reduction::bit_or: return sum | element;
    default: return sum + element;
  }
}

}  // namespace

const char* adder_refusal(const AggregatorOptions& options) {
  if (options.parent_worker) return "a pipeline that adds has no aggregator above it";
  if (options.world > kAdderWorkersMax) return "a pipeline that adds has 32 ranks at most";
  for (std::size_t worker = 0; worker < options.workers.size(); ++worker) {
    if (is_aggregator(options, worker)) return "a pipeline that adds has ranks alone below it";
  }
  return nullptr;
}

Adder::Adder(const AggregatorOptions& options, Controller controller)
    : options_(options),
      controller_(controller),
      elements_max_(std::min(options.elements_max,
                             options.datagram_bytes_max - std::uint32_t{INFOLD_HEADER_BYTES})),
      slots_(kSlot, options.slot_count),
      formats_(kFormat, options.slot_count * 2U),
      shapes_(kShape, options.slot_count * 2U),
      first_workers_(kFirst, options.slot_count * 2U),
      counts_(kCount, options.slot_count * 2U),
      digests_(kDigest, options.slot_count * 2U),
      answers_(kAnswer, options.slot_count * 2U),
      last_workers_(kLast, options.slot_count * 2U),
      elements_(kElements, elements_max_, options.slot_count * 2U) {
  CHECK(adder_refusal(options) == nullptr);
  CHECK(!options.workers.empty());
  CHECK_THAT(options.workers.size(), <=, kAdderWorkersMax);
  CHECK_THAT(options.slot_count, >, 0);
  CHECK_THAT(options.datagram_bytes_max, >=, INFOLD_HEADER_BYTES);
  // The state is that of slots whose chunks 0 and -1 have been summed and forgotten.
  for (std::size_t slot = 0; slot < options.slot_count; ++slot) answers_[slot * 2 + 1].round = ~0U;
  result_.resize(options.datagram_bytes_max);
}

Verdict Adder::handle_datagram(std::span<const std::byte> datagram, Source source) {
  Packet packet;
  const bool is_in_order = parse_at_aggregator(datagram, packet) == Malformed::none;
  return is_in_order ? handle(packet, source) : count_malformed();
}

Verdict Adder::handle(const Packet& packet, Source source) {
  outgoing_.reset();
  const Verdict verdict = dispatch(packet, source);
  ++counters_[static_cast<std::size_t>(verdict)];
  return verdict;
}

Verdict Adder::count_malformed() {
  outgoing_.reset();
  ++counters_[static_cast<std::size_t>(Verdict::dropped_malformed)];
  return Verdict::dropped_malformed;
}

std::optional<Adder::Transmit> Adder::poll_transmit() { return std::exchange(outgoing_, {}); }

// Checks in the order of R-007. Hardware does all of this by tables and comparisons with their
// entries.
Verdict Adder::dispatch(const Packet& packet, Source source) {
  const Header& header = packet.header;
  if (packet.is_sparse()) return Verdict::dropped_malformed;
  if (const auto verdict = turn_away(header, source, options_)) return *verdict;
  if (header.kind == Kind::abort) return handle_abort(packet);
  if (header.slot >= options_.slot_count) return Verdict::dropped_bad_slot;
  if (!fits_limits(header.signature)) return Verdict::dropped_limits;
  if (header.kind == Kind::partial || header.kind == Kind::overrange) {
    return Verdict::dropped_malformed;
  }
  if (header.kind == Kind::add &&
      header.contributors != contributors_of(options_.workers[header.worker])) {
    return Verdict::dropped_malformed;
  }
  return pass_through(packet);
}

bool Adder::fits_limits(const ChunkSignature& signature) const {
  return adder_record(elements_max_).formats.has(signature.layout().format) &&
         signature.elements <= elements_max_ &&
         datagram_bytes(Kind::result, signature.layout(), signature.elements, false) <=
             options_.datagram_bytes_max;
}

Verdict Adder::pass_through(const Packet& packet) {
  const Header& header = packet.header;
  const std::size_t copy = copy_of(header);
  Pass pass;
  const Standing standing = stand(pass, header);
  const Chunk chunk = recall(pass, header, standing, copy);
  const bool is_spoiled = chunk.answer.is_of(header.round, CopyState::spoiled);
  if (is_spoiled && !abort_) return hear_mismatch(header, standing, chunk);
  const bool adds = standing.is_new && header.kind == Kind::add;
  const bool is_answer = chunk.answer.is_of(header.round, CopyState::complete);
  if (adds || is_answer) sum(pass, packet, chunk, adds, copy);

  if (is_answer) {
    const To to = standing.completes ? To::all_workers : To::worker;
    send(to, standing.completes ? 0 : header.worker, write_result(header, chunk));
    return standing.completes ? Verdict::completed : Verdict::replayed;
  }
  if (!standing.is_open) {
    const auto ahead = static_cast<std::int32_t>(header.round - chunk.answer.round);
    return ahead > 0 ? Verdict::dropped_early_round : Verdict::dropped_stale_round;
  }
  if (abort_) {
    send_end(To::worker, header.worker);
    return Verdict::answered_ended;
  }
  if (standing.is_new) return Verdict::contributed;
  send_pending(header, standing.seen);
  return Verdict::answered_pending;
}

// Finds where the packet's chunk stands, and records a new contribution. After the job's end
// nothing is summed any more.
Adder::Standing Adder::stand(Pass& pass, const Header& header) {
  const std::uint32_t all = all_workers();
  const bool contributes = header.kind != Kind::query && !abort_;
  const std::uint32_t bit = contributes ? bit_of(header.worker) : 0;
  return slots_.touch(pass, header.slot, [&](SlotState& state) {
#ifdef INFOLD_CANARY_WITHOUT_ROUND_CHECK
    // The original protocol compares only this. It is built only to show that the search finds the
    // flaw.
    const bool is_open = (state.open & 1) == (header.round & 1);
#else
    const bool is_open = state.open == header.round;
#endif
    const bool is_last = state.seen == (all ^ bit);
    Standing standing{.is_open = is_open, .seen = state.seen};
    standing.is_new = is_open && contributes && (state.seen & bit) == 0;
    standing.begins = standing.is_new && state.seen == 0;
    standing.completes = standing.is_new && is_last;
    if (standing.completes) {
      state = {.open = state.open + 1, .seen = 0};
    } else if (is_open) {
      state.seen |= bit;
    }
    return standing;
  });
}

Adder::Chunk Adder::recall(Pass& pass, const Header& header, const Standing& standing,
                           std::size_t copy) {
  Chunk chunk;
  const std::uint32_t format =
      formats_.write_if(pass, copy, standing.begins, format_word(header.signature));
  const std::uint32_t shape = shapes_.write_if(pass, copy, standing.begins, header.signature.shape);
  chunk.signature = signature_of(format, shape);
  chunk.first = first_workers_.write_if(pass, copy, standing.begins, header.worker);
  chunk.fits = chunk.signature == header.signature;
  const bool adds = standing.is_new && chunk.fits && header.kind == Kind::add;
  chunk.count = counts_.touch(pass, copy, [&](std::uint16_t& count) {
    if (standing.begins) count = 0;
    chunk.had_data = count > 0;
    return count = static_cast<std::uint16_t>(count + (adds ? 1 : 0));
  });
  chunk.digest = digests_.touch(pass, copy, [&](std::uint32_t& digest) {
    if (standing.begins) digest = 0;
    return digest += adds ? header.contributors.digest : 0;
  });
  chunk.answer = answers_.touch(pass, copy, [&](Answer& answer) {
    if (standing.begins) answer = {header.round, CopyState::not_complete};
    if (standing.is_new && !chunk.fits) answer.state = CopyState::spoiled;
    if (standing.completes && answer.state == CopyState::not_complete) {
      answer.state = CopyState::complete;
    }
    return answer;
  });
  chunk.last = last_workers_.write_if(pass, copy, standing.completes, header.worker);
  return chunk;
}

// Adds the packet's elements to the chunk's sum if `adds` is set, and reads the sum into result_. A
// packet whose elements differ from the chunk's adds none.
void Adder::sum(Pass& pass, const Packet& packet, const Chunk& chunk, bool adds, std::size_t copy) {
  const ElementLayout layout = chunk.signature.layout();
  const auto width = static_cast<std::uint32_t>(layout.element_bytes());
  std::byte* const sums = result_.data() + INFOLD_HEADER_BYTES;
  for (std::uint32_t i = 0; i < chunk.signature.elements; ++i) {
    const std::uint32_t element =
        adds ? load(packet.elements, i, width, options_.is_big_endian) : 0;
    const std::uint32_t sum = elements_.touch(pass, i, copy, [&](std::uint32_t& entry) {
      if (adds) {
        entry = chunk.had_data ? combine(chunk.signature.reduction(), entry, element) : element;
      }
      return entry;
    });
    std::memcpy(sums + std::size_t{i} * width, &sum, width);
  }
  if (options_.is_big_endian) reverse_elements(sums, chunk.signature.elements, width, sums);
}

std::span<const std::byte> Adder::write_result(const Header& header, const Chunk& chunk) {
  Header result = job_header(Kind::result);
  result.worker = chunk.last;
  result.slot = header.slot;
  result.round = header.round;
  result.signature = chunk.signature;
  result.contributors = {chunk.count, chunk.count, chunk.digest};
  write_header(result, result_);
  const Kind kind = chunk.count > 0 ? Kind::result : Kind::skip;
  return std::span(result_).first(
      datagram_bytes(kind, chunk.signature.layout(), chunk.signature.elements, false));
}

void Adder::send_pending(const Header& header, std::uint32_t seen) {
  Header pending = job_header(Kind::pending);
  pending.flags = INFOLD_FLAG_BITS;
  pending.worker = header.worker;
  pending.slot = header.slot;
  pending.round = header.round;
  pending.signature = header.signature;
  write_header(pending, notice_);
  std::array<RankRange, kAdderWorkersMax> missing;
  std::size_t count = 0;
  const auto workers = static_cast<std::uint8_t>(options_.workers.size());
  for (std::uint8_t worker = 0; worker < workers; ++worker) {
    if ((seen & bit_of(worker)) == 0) missing[count++] = options_.workers[worker];
  }
  const std::size_t bytes = write_missing(std::span(missing).first(count), PendingForm::bits,
                                          options_.world, notice_.data() + INFOLD_HEADER_BYTES);
  send(To::worker, header.worker, std::span(notice_).first(INFOLD_HEADER_BYTES + bytes));
}

void Adder::send(To to, std::uint8_t worker, std::span<const std::byte> datagram) {
  CHECK(!outgoing_);
  outgoing_ = {to, worker, datagram};
}

Header Adder::job_header(Kind kind) const {
  Header header;
  header.kind = kind;
  header.job = options_.job;
  header.epoch = options_.epoch;
  return header;
}

std::uint32_t Adder::all_workers() const {
  return static_cast<std::uint32_t>((std::uint64_t{1} << options_.workers.size()) - 1);
}

std::size_t Adder::memory_bytes() const {
  return slots_.memory_bytes() + formats_.memory_bytes() + shapes_.memory_bytes() +
         first_workers_.memory_bytes() + counts_.memory_bytes() + digests_.memory_bytes() +
         answers_.memory_bytes() + last_workers_.memory_bytes() + elements_.memory_bytes() +
         result_.capacity();
}

std::uint64_t Adder::digest() const {
  base::Digest digest;
  for (std::size_t slot = 0; slot < options_.slot_count; ++slot) {
    digest.add(std::uint64_t{slots_[slot].open} << 32 | slots_[slot].seen);
  }
  for (std::size_t copy = 0; copy < options_.slot_count * std::size_t{2}; ++copy) {
    const Answer& answer = answers_[copy];
    const SlotState& slot = slots_[copy / 2];
    const bool is_complete = answer.state == CopyState::complete;
    digest.add(std::uint64_t{answer.round} << 2 | static_cast<std::uint64_t>(answer.state));
    // Nothing else is read again from a copy without contributions.
    if (!is_complete && (slot.open != answer.round || slot.seen == 0)) continue;
    const ChunkSignature signature = signature_of(formats_[copy], shapes_[copy]);
    digest.add(std::uint64_t{formats_[copy]} << 32 | shapes_[copy]);
    // A mismatch names the worker that came first, and the result names the worker that came last.
    const std::uint8_t told = is_complete ? last_workers_[copy] : first_workers_[copy];
    digest.add(std::uint64_t{told} << 32 | counts_[copy]);
    digest.add(digests_[copy]);
    for (std::uint32_t i = 0; counts_[copy] > 0 && i < signature.elements; ++i) {
      digest.add(elements_.at(i, copy));
    }
  }
  digest.add(abort_ ? static_cast<std::uint64_t>(abort_->reason) + 1 : 0);
  return digest.value();
}

}  // namespace infold::core
