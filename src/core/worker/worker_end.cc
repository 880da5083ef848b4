// SPDX-License-Identifier: Apache-2.0
//
// How a job ends at a worker. Every call in flight fails with a reason that a person can act on:
// which rank is late, or which field two ranks disagree about and what each of them sent.
#include <array>

#include "base/check.h"
#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

using base::Code;

// Returns x with x * factor = 1 modulo 2^32. Each step of Newton's iteration doubles the correct
// bits.
constexpr std::uint32_t inverse(std::uint32_t factor) {
  std::uint32_t x = factor;
  for (int step = 0; step < 5; ++step) x *= 2 - factor * x;
  return x;
}
static_assert(inverse(INFOLD_SHAPE_ROOT_FACTOR) * INFOLD_SHAPE_ROOT_FACTOR == 1);
static_assert(inverse(INFOLD_SHAPE_ENCODING_FACTOR) * INFOLD_SHAPE_ENCODING_FACTOR == 1);

void set_field(Failure& failure, const char* field, std::int64_t at_rank, std::int64_t at_other) {
  failure.field = field;
  failure.rank_value = at_rank;
  failure.other_value = at_other;
}

// A shape combines a size, a root and an encoding. If only the roots differ, two shapes differ by
// less than `world` times the root's factor, which hardly ever happens with two sizes. The same
// holds for encodings. A rank can tell the values if it knows the other fields from its own call.
// It can also tell sizes if the collective has no root.
void explain_shape(Failure& failure, const Abort& abort, const TransferRequest* own,
                   std::uint16_t world) {
  constexpr std::uint32_t kPerRoot = inverse(INFOLD_SHAPE_ROOT_FACTOR);
  constexpr std::uint32_t kPerEncoding = inverse(INFOLD_SHAPE_ENCODING_FACTOR);
  constexpr std::uint32_t kEncodings = 1U << 16;
  const std::uint32_t at_rank = abort.rank_signature.shape;
  const std::uint32_t at_other = abort.other_signature.shape;
  const std::uint32_t roots_apart = (at_rank - at_other) * kPerRoot;
  const std::uint32_t encodings_apart = (at_rank - at_other) * kPerEncoding;
  const bool is_encoding = encodings_apart < kEncodings || -encodings_apart < kEncodings;
  const bool is_root =
      has_root(abort.rank_signature.collective()) && (roots_apart < world || -roots_apart < world);
  const std::uint32_t size = own == nullptr ? 0 : static_cast<std::uint32_t>(own->elements);
  const std::uint32_t encoding = own == nullptr ? 0 : own->encoding * INFOLD_SHAPE_ENCODING_FACTOR;
  const std::uint32_t root = own == nullptr ? 0 : shape_of(*own) - size - encoding;
  failure.values_known =
      own != nullptr || (!is_encoding && !has_root(abort.rank_signature.collective()));
  if (is_encoding) {
    set_field(failure, "encoding", (at_rank - size - root) * kPerEncoding,
              (at_other - size - root) * kPerEncoding);
  } else if (is_root) {
    set_field(failure, "root", (at_rank - size - encoding) * kPerRoot,
              (at_other - size - encoding) * kPerRoot);
  } else {
    set_field(failure, "size", at_rank - root - encoding, at_other - root - encoding);
  }
}

void explain_mismatch(Failure& failure, const Abort& abort, const TransferRequest* own,
                      std::uint16_t world) {
  const ChunkSignature& a = abort.rank_signature;
  const ChunkSignature& b = abort.other_signature;
  if (a.operation >> 4 != b.operation >> 4) {
    set_field(failure, "collective", a.operation >> 4, b.operation >> 4);
  } else if (a.operation != b.operation) {
    set_field(failure, "operation", a.operation & 0xF, b.operation & 0xF);
  } else if (a.format >> 4 != b.format >> 4) {
    set_field(failure, "type", a.format >> 4, b.format >> 4);
  } else if (a.format != b.format) {
    set_field(failure, "wire format", a.format & 0xF, b.format & 0xF);
  } else if (a.shape != b.shape) {
    explain_shape(failure, abort, own, world);
  } else if ((a.elements == 0) != (b.elements == 0)) {
    // One rank announces the tensor in the small stream, and the other sends it there.
    set_field(failure, "priority", a.elements == 0, b.elements == 0);
  } else {
    set_field(failure, "chunk size", a.elements, b.elements);
  }
}

}  // namespace

Failure failure_of(const Abort& abort, const TransferRequest* own, std::uint16_t world) {
  Failure failure;
  failure.rank = abort.rank;
  failure.other = abort.other;
  switch (abort.reason) {
    case AbortReason::cancelled:
      failure.error = {Code::cancelled, "wait", "a rank gave the call up; join again", abort.rank};
      break;
    case AbortReason::deadline:
      failure.error = {Code::deadline_exceeded, "wait",
                       "a rank's deadline passed while it waited for another", abort.rank};
      if (abort.other != abort.rank) failure.missing.append({abort.other, 1});
      break;
    case AbortReason::mismatch:
      failure.error = {Code::mismatch, "wait", "all ranks must make the same call", abort.rank};
      explain_mismatch(failure, abort, own, world);
      break;
    case AbortReason::left:
      failure.error = {Code::aborted, "wait", "a rank has left the job", abort.rank};
      break;
    case AbortReason::lost:
      failure.error = {Code::unavailable, "wait", "a rank's process is gone", abort.other};
      failure.missing.append({abort.other, 1});
      break;
    case AbortReason::stopped:
      failure.error = {Code::unavailable, "wait", "an aggregator is gone", abort.other};
      failure.site = static_cast<std::uint8_t>(abort.other);
      break;
  }
  return failure;
}

// The worker heard of a mismatch before this rank made the call. Now it knows the call's size and
// root.
void Worker::State::explain_again(const TransferRequest& request) {
  if (!failure_ || said_.reason != AbortReason::mismatch) return;
  const std::uint32_t shape = shape_of(request);
  const bool is_meant = shape == said_.rank_signature.shape || shape == said_.other_signature.shape;
  if (is_meant) failure_ = failure_of(said_, &request, options_.world);
}

void Worker::State::hear_end(base::Instant now, const Abort& abort) {
  if (failure_) return;
  const TransferRequest* own = nullptr;
  for (const Stream& stream : streams_) {
    for (std::uint64_t place = stream.first; place < stream.end && own == nullptr; ++place) {
      const Transfer& transfer = stream.at(place);
      const std::uint32_t shape = transfer.signature.shape;
      const bool is_meant =
          shape == abort.rank_signature.shape || shape == abort.other_signature.shape;
      if (!transfer.done && is_meant) own = &transfer.request;
    }
  }
  end_job(now, failure_of(abort, own, options_.world), abort);
}

void Worker::State::end_job(base::Instant now, const Failure& failure, const Abort& said) {
  if (failure_) return;
  said_ = said;
  for (const std::uint8_t site : driven_) {
    sites_[site].abort_due = true;
    sites_[site].abort_at = now;
  }
  fail_all(failure);
}

// Lets every transfer in flight fail for the same reason, in the order of submission.
void Worker::State::fail_all(const Failure& failure) {
  failure_ = failure;
  std::array<std::uint64_t, stream_count> place = {streams_[0].first, streams_[1].first};
  while (live_transfers_ > 0) {
    StreamName oldest = stream_count;
    for (const StreamName name : {small_stream, bulk_stream}) {
      while (place[name] < streams_[name].end && streams_[name].at(place[name]).done) ++place[name];
      if (place[name] == streams_[name].end) continue;
      const bool older = oldest == stream_count ||
                         streams_[name].at(place[name]).id < streams_[oldest].at(place[oldest]).id;
      if (older) oldest = name;
    }
    CHECK_THAT(oldest, !=, stream_count);
    Transfer& transfer = streams_[oldest].at(place[oldest]++);
    transfer.done = true;
    if (transfer.announces != 0) continue;
    --live_transfers_;
    CHECK_THAT(event_count_, <, events_.size());
    events_[(first_event_ + event_count_++) % events_.size()] = {transfer.id, failure, 0};
  }
  for (Stream& stream : streams_) stream.first = stream.numbered = stream.end;
  for (Flow& flow : flows_) {
    for (WorkerSlot& slot : flow.slots) slot = {.round = slot.round};
    flow.waiting.clear();
    flow.resending.clear();
    flow.in_flight = 0;
    flow.timeout_at = base::Instant::never();
  }
  earliest_deadline_ = base::Instant::never();
}

// Returns the transfer with the earliest deadline.
TransferId Worker::State::late_transfer() const {
  for (const Stream& stream : streams_) {
    for (std::uint64_t place = stream.first; place < stream.end; ++place) {
      const Transfer& transfer = stream.at(place);
      const bool is_late = transfer.request.deadline == earliest_deadline_;
      if (!transfer.done && transfer.announces == 0 && is_late) return transfer.id;
    }
  }
  return TransferId::none;
}

// Returns the call of a transfer. An announcement belongs to the call that it announces.
TransferId Worker::State::call_of(const Transfer& transfer) const {
  if (transfer.announces == 0) return transfer.id;
  return streams_[bulk_stream].at(transfer.announces - 1).id;
}

// If nothing was said about a transfer, it waits for the transfers before it. Most likely these
// still wait for the ranks that were missing when an aggregator last said so.
RankRanges Worker::State::waiting_for(TransferId id) const {
  const Transfer* named = nullptr;
  bool named_is_own = false;
  for (const Stream& stream : streams_) {
    for (std::uint64_t place = stream.first; place < stream.end; ++place) {
      const Transfer& transfer = stream.at(place);
      const TransferId call = call_of(transfer);
      if (transfer.done || transfer.missing.count == 0 || call > id) continue;
      const bool is_own = call == id;
      const bool is_better = named == nullptr || is_own > named_is_own ||
                             (is_own == named_is_own && transfer.missing_at >= named->missing_at);
      if (!is_better) continue;
      named = &transfer;
      named_is_own = is_own;
    }
  }
  return named != nullptr ? named->missing : RankRanges{};
}

Failure Worker::State::deadline_failure() const {
  Failure failure;
  failure.rank = options_.rank;
  failure.missing = waiting_for(late_transfer());
  failure.other = failure.missing.count > 0 ? failure.missing.range[0].first : options_.rank;
  failure.error = {Code::deadline_exceeded, "wait", "a rank has not contributed in time", 0};
  if (failure.missing.count > 0) return failure;
  failure.error.detail = "an aggregator does not answer";
  for (const Flow& flow : flows_) {
    if (flow.in_flight > 0) failure.site = flow.site;
  }
  if (sites_[failure.site].answered) failure.error.detail = "the network lost too many packets";
  return failure;
}

}  // namespace infold::core
