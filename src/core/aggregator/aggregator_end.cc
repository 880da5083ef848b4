// SPDX-License-Identifier: Apache-2.0
//
// How a job ends at an aggregator, and how the news reaches every worker of a tree (spec section
// 8).
#include <algorithm>

#include "core/aggregator/aggregator.h"

namespace infold::core {

void Aggregator::end(const Abort& abort) {
  outbox_count_ = 0;
  outbox_sent_ = 0;
  if (!abort_) end_job(abort);
  count_input();
}

// Each level passes the end on, and tells its workers whether the root knows. Until the root knows,
// the workers repeat themselves, because an aggregator has no timer for that.
Verdict Aggregator::handle_abort(const Packet& packet) {
  const std::optional<Abort> abort = read_abort(packet.body);
  if (!abort || !names_members(*abort, options_.world)) return Verdict::dropped_malformed;
  const bool down = packet.header.kind == Kind::aborted;
  const bool is_from_root = down && (packet.header.flags & INFOLD_FLAG_PARTIAL) == 0;
  const bool is_news = !abort_ || (is_from_root && !root_knows_);
  root_knows_ = root_knows_ || is_from_root || !has_parent();
  return down ? hear_end_from_parent(*abort, is_news)
              : hear_end_from_worker(*abort, packet.header.worker);
}

Verdict Aggregator::hear_end_from_worker(const Abort& abort, std::uint8_t worker) {
  const bool is_first = !abort_;
  if (!root_knows_) asking_for_end_.add(worker);
  if (is_first && (abort.reason != AbortReason::left || some_chunk_waits_for(worker))) {
    return end_job(abort);
  }
  if (is_first) abort_ = abort;
  send_end(To::worker, worker);
  if (!root_knows_) send_end(To::parent, 0);
  return is_first ? Verdict::job_ended : Verdict::answered_ended;
}

// The parent answers each ABORT and each repeat that went up. If the answer is not news to this
// aggregator, it goes only to the workers whose packets went up. All ranks of a job reach a
// deadline at the same time, and answering all of them for each of them would square the number of
// packets.
Verdict Aggregator::hear_end_from_parent(const Abort& abort, bool is_news) {
  const bool is_first = !abort_;
  if (is_first) abort_ = abort;
  if (is_news && (abort_->reason != AbortReason::left || some_chunk_is_open())) {
    send_end(To::all_workers, 0);
    asking_for_end_ = {};
  } else if (!asking_for_end_.is_empty()) {
    send_to_asking(asking_for_end_, write_end(Kind::aborted, 0));
  } else if (!is_news) {
    return Verdict::dropped_repeat;
  }
  if (is_first && !root_knows_) send_end(To::parent, 0);
  return is_first ? Verdict::job_ended : Verdict::answered_ended;
}

// A rank may leave while others still fetch the last results. They are told only when they need the
// rank again, which is when some chunk waits for it.
bool Aggregator::some_chunk_waits_for(std::uint8_t worker) const {
  return std::any_of(copies_.begin(), copies_.end(), [worker](const Copy& copy) {
    return copy.phase == Phase::collecting && !copy.seen.has(worker);
  });
}

// If the parent says that a rank has left, this may only confirm what the rank itself has said. In
// that case no chunk is open here, because a rank that leaves in good order has had all answers,
// through this aggregator.
bool Aggregator::some_chunk_is_open() const {
  return std::any_of(copies_.begin(), copies_.end(),
                     [](const Copy& copy) { return copy.phase != Phase::done; });
}

// Tells all workers, and the parent, which then tells its other workers.
Verdict Aggregator::end_job(const Abort& abort) {
  abort_ = abort;
  root_knows_ = root_knows_ || !has_parent();
  send_end(To::all_workers, 0);
  if (!root_knows_) send_end(To::parent, 0);
  return Verdict::job_ended;
}

// ABORT is for the parent, ABORTED for workers. Each has its own buffer, so that both can be in the
// outbox.
std::span<const std::byte> Aggregator::write_end(Kind kind, std::uint8_t worker) {
  const bool is_for_parent = kind == Kind::abort;
  const std::span<std::byte> out = is_for_parent ? std::span(notice_) : std::span(answer_);
  Header header = job_header(kind);
  header.worker = is_for_parent ? *options_.parent_worker : worker;
  if (!is_for_parent && !root_knows_) header.flags |= INFOLD_FLAG_PARTIAL;
  write_header(header, out);
  write_abort(*abort_, out.data() + INFOLD_HEADER_BYTES);
  return out.first(INFOLD_HEADER_BYTES + sizeof(infold_abort));
}

void Aggregator::send_end(To to, std::uint8_t worker) {
  send(to, worker, write_end(to == To::parent ? Kind::abort : Kind::aborted, worker));
}

}  // namespace infold::core
