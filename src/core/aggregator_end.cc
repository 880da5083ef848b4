// SPDX-License-Identifier: Apache-2.0
//
// How a job ends at an aggregator, and how that reaches every worker of a tree (spec section 8).
#include <algorithm>

#include "core/aggregator.h"

namespace infold::core {

void Aggregator::end(const Abort& abort) {
  outbox_count_ = 0;
  outbox_sent_ = 0;
  if (!abort_) end_job(abort);
}

// Each level passes the end on and tells its workers whether the root knows; until it does, the
// ones below repeat themselves, since an aggregator has no timer to do so.
Verdict Aggregator::handle_abort(const Packet& packet) {
  const std::optional<Abort> abort = read_abort(packet.body);
  if (!abort || !names_members(*abort, options_.world)) return Verdict::dropped_malformed;
  const bool down = packet.header.kind == Kind::aborted;
  const bool news_from_root = down && (packet.header.flags & INFOLD_FLAG_PARTIAL) == 0;
  root_knows_ = root_knows_ || news_from_root || !has_parent();
  if (!abort_) {
    const bool is_needed =
        abort->reason != AbortReason::left ||
        (down ? some_chunk_is_open() : some_chunk_waits_for(packet.header.worker));
    if (is_needed) return end_job(*abort);
    abort_ = *abort;
    if (!down) send_abort(To::worker, packet.header.worker, Kind::aborted);
    if (!root_knows_) send_abort(To::parent, 0, Kind::abort);
    return Verdict::job_ended;
  }
  if (down) {
    const bool is_needed = abort_->reason != AbortReason::left || some_chunk_is_open();
    if (is_needed) send_abort(To::all_workers, 0, Kind::aborted);
    return Verdict::answered_ended;
  }
  send_abort(To::worker, packet.header.worker, Kind::aborted);
  if (!root_knows_) send_abort(To::parent, 0, Kind::abort);
  return Verdict::answered_ended;
}

// A rank may leave while others still fetch the last results. They are told only when they need
// the rank again; nobody does as long as this holds for no chunk.
bool Aggregator::some_chunk_waits_for(std::uint8_t worker) const {
  return std::any_of(copies_.begin(), copies_.end(), [worker](const Copy& copy) {
    return copy.phase == Phase::collecting && !copy.seen.has(worker);
  });
}

// The parent's word that a rank has left may only confirm what that rank said itself. Then no chunk
// is open here: whoever leaves in good order has had all answers, through us.
// A job that has ended begins no chunk: what was looked at and not open is not looked at again.
bool Aggregator::some_chunk_is_open() {
  const auto from = copies_.begin() + static_cast<std::ptrdiff_t>(first_open_);
  const auto open =
      std::find_if(from, copies_.end(), [](const Copy& copy) { return copy.phase != Phase::done; });
  if (abort_) first_open_ = static_cast<std::size_t>(open - copies_.begin());
  return open != copies_.end();
}

// Tells all workers, and the parent, which tells its other workers.
Verdict Aggregator::end_job(const Abort& abort) {
  abort_ = abort;
  root_knows_ = root_knows_ || !has_parent();
  send_abort(To::all_workers, 0, Kind::aborted);
  if (!root_knows_) send_abort(To::parent, 0, Kind::abort);
  return Verdict::job_ended;
}

void Aggregator::send_abort(To to, std::uint8_t worker, Kind kind) {
  std::span<std::byte> out = to == To::parent ? std::span(notice_) : std::span(answer_);
  Header header = job_header(kind);
  header.worker = to == To::parent ? *options_.parent_worker : worker;
  if (kind == Kind::aborted && !root_knows_) header.flags |= INFOLD_FLAG_PARTIAL;
  write_header(header, out);
  write_abort(*abort_, out.data() + INFOLD_HEADER_BYTES);
  send(to, worker, out.first(INFOLD_HEADER_BYTES + sizeof(infold_abort)));
}

}  // namespace infold::core
