// SPDX-License-Identifier: Apache-2.0
#include "core/team/worker_team.h"

#include <algorithm>

#include "base/digest.h"

namespace infold::core {

using base::Code;

WorkerTeam::WorkerTeam(const WorkerOptions& options, std::span<const SiteSet> shares)
    : shares_(shares.begin(), shares.end()) {
  SiteSet all = 0;
  for (const SiteSet share : shares) {
    CHECK((all & share) == 0);
    all |= share;
    WorkerOptions own = options;
    own.drives = share;
    own.seed += workers_.size();
    workers_.emplace_back(own);
  }
  if (workers_.size() > 1) joint_.emplace(workers_.size(), options.transfers_max);
}

// No worker takes the transfer unless all have room, so that an id names the same transfer at all
// of them.
base::Result<TransferId> WorkerTeam::submit(base::Instant now, const TransferRequest& request) {
  if (!joint_) return workers_.front().submit(now, request);
  const bool has_room = std::all_of(workers_.begin(), workers_.end(),
                                    [](const Worker& each) { return each.has_room_for(1); });
  if (!is_over_ && !has_room) {
    return base::fail(Code::resource_exhausted, "submit", "too many calls in flight; wait for one");
  }
  TransferRequest joint = request;
  joint.after = joint_->still_awaited(request.after);
  base::Result<TransferId> id;
  std::uint32_t takers = 0;
  for (Worker& worker : workers_) {
    id = worker.submit(now, joint);
    if (!id) return id;
    takers += worker.takes_part() ? 1 : 0;
  }
  joint_->add(*id, joint.after, takers);
  return id;
}

void WorkerTeam::set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present) {
  for (Worker& worker : workers_) worker.set_size(id, elements, present);
}

void WorkerTeam::cancel(base::Instant now) {
  for (Worker& worker : workers_) worker.cancel(now);
  is_over_ = true;
}

void WorkerTeam::leave(base::Instant now) {
  for (Worker& worker : workers_) worker.leave(now);
  is_over_ = true;
}

// Tells all workers why the job has ended at the first one.
void WorkerTeam::spread_end(base::Instant now) {
  if (is_over_) return;
  const auto first = std::find_if(workers_.begin(), workers_.end(),
                                  [](const Worker& each) { return each.failure().has_value(); });
  if (first == workers_.end()) return;
  is_over_ = true;
  const Failure failure = *first->failure();
  const Abort said = *first->end_said();
  for (Worker& worker : workers_) worker.end_alike(now, failure, said);
}

Worker& WorkerTeam::worker_of(std::uint8_t site) {
  std::size_t worker = 0;
  while (worker + 1 < workers_.size() && (shares_[worker] >> site & 1) == 0) ++worker;
  return workers_[worker];
}

void WorkerTeam::handle_datagram(base::Instant now, std::uint8_t site,
                                 std::span<const std::byte> datagram) {
  worker_of(site).handle_datagram(now, site, datagram);
  spread_end(now);
}

void WorkerTeam::handle(base::Instant now, std::uint8_t site, const Packet& packet) {
  worker_of(site).handle(now, site, packet);
  spread_end(now);
}

void WorkerTeam::handle_timeout(base::Instant now) {
  for (Worker& worker : workers_) {
    if (worker.poll_timeout().value_or(base::Instant::never()) <= now) worker.handle_timeout(now);
  }
  spread_end(now);
}

std::optional<Worker::Transmit> WorkerTeam::poll_transmit(base::Instant now,
                                                          std::span<std::byte> out) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::size_t turn = (next_ + i) % workers_.size();
    if (auto transmit = workers_[turn].poll_transmit(now, out)) {
      next_ = (turn + 1) % workers_.size();
      return transmit;
    }
  }
  return std::nullopt;
}

std::optional<base::Instant> WorkerTeam::poll_timeout() const {
  std::optional<base::Instant> earliest;
  for (const Worker& worker : workers_) {
    const std::optional<base::Instant> next = worker.poll_timeout();
    if (next) earliest = std::min(earliest.value_or(*next), *next);
  }
  return earliest;
}

std::optional<Event> WorkerTeam::poll_event() {
  if (!joint_) return workers_.front().poll_event();
  for (Worker& worker : workers_) {
    while (const auto event = worker.poll_event()) {
      const std::optional<JointTransfers::Ended> ended = joint_->take(*event);
      if (!ended) continue;
      for (Worker& each : workers_) {
        if (ended->is_awaited) each.release(ended->event.id);
      }
      return ended->event;
    }
  }
  return std::nullopt;
}

WorkerCounters WorkerTeam::counters() const {
  WorkerCounters sum;
  for (const Worker& worker : workers_) sum += worker.counters();
  return sum;
}

std::uint32_t WorkerTeam::in_flight() const {
  std::uint32_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.in_flight();
  return sum;
}

std::size_t WorkerTeam::memory_bytes() const {
  std::size_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.memory_bytes();
  return sum;
}

std::uint64_t WorkerTeam::digest() const {
  if (!joint_) return workers_.front().digest();
  base::Digest digest;
  for (const Worker& worker : workers_) digest.add(worker.digest());
  return digest.value();
}

}  // namespace infold::core
