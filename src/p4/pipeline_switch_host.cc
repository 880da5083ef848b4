// SPDX-License-Identifier: Apache-2.0
//
// The packets that the pipeline cannot decide about. It forwards them to this host, as
// core::Adder's controller gets them.
#include <algorithm>
#include <array>
#include <utility>

#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "p4/pipeline_switch.h"

namespace infold::p4 {
namespace {

using core::Verdict;

std::uint32_t copy_of(std::uint32_t first_slot, const core::Header& header) {
  return (first_slot + header.slot) * 2 + (header.round & 1);
}

core::ChunkSignature signature_of(const RegisterView& view) {
  return {static_cast<std::uint16_t>(view.format >> 16),
          static_cast<std::uint8_t>(view.format >> 8), static_cast<std::uint8_t>(view.format),
          view.shape};
}

}  // namespace

void PipelineSwitch::watch(base::Duration duration) {
  socket_.wait(io::monotonic_now() + duration);
  for (const io::UdpSocket::Arrival& arrival : socket_.receive()) hear(arrival);
}

void PipelineSwitch::hear(const io::UdpSocket::Arrival& arrival) {
  if (io::is_probe(arrival.datagram)) {
    const std::lock_guard lock(mutex_);
    ++probes_;
    echo_.send(socket_, *arrival.from, arrival.datagram);
    return;
  }
  core::Packet packet;
  const bool is_packet =
      core::parse_at_aggregator(arrival.datagram, packet) == core::Malformed::none;
  const Verdict verdict =
      is_packet ? verdict_on(*arrival.from, packet) : Verdict::dropped_malformed;
  const std::lock_guard lock(mutex_);
  ++heard_[static_cast<std::size_t>(verdict)];
}

// The checks are the pipeline's once more: ABORT passes only some of them there.
Verdict PipelineSwitch::verdict_on(const io::SocketAddress& from, const core::Packet& packet) {
  const core::Header& header = packet.header;
  const std::optional<Job> job = find_job(header);
  if (!job) return Verdict::dropped_foreign_job;
  const bool is_elsewhere =
      header.worker < job->workers.size() && !job->workers[header.worker].source.is_same_host(from);
  const auto turned_away = core::turn_away(header, {.is_elsewhere = is_elsewhere}, job->options);
  if (turned_away) return *turned_away;
  if (header.kind == core::Kind::abort) return hear_abort(from, packet, *job);
  if (header.slot >= job->options.slot_count) return Verdict::dropped_bad_slot;
  if (job->end) {
    const std::lock_guard lock(mutex_);
    tell(*job, header.worker, from);
    return Verdict::answered_ended;
  }
  const bool contributes = header.kind == core::Kind::add || header.kind == core::Kind::skip;
  return contributes ? look_for_mismatch(header, *job) : Verdict::dropped_foreign_job;
}

Verdict PipelineSwitch::hear_abort(const io::SocketAddress& from, const core::Packet& packet,
                                   const Job& job) {
  const core::Header& header = packet.header;
  const std::optional<core::Abort> abort = core::read_abort(packet.body);
  if (!abort || !core::names_members(*abort, job.options.world)) {
    return Verdict::dropped_malformed;
  }
  const bool all_hear = !job.end && (abort->reason != core::AbortReason::left ||
                                     some_chunk_waits_for(job, header.worker));
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end()) return Verdict::dropped_foreign_job;
  const bool is_first = !found->second.end;
  if (is_first && all_hear) {
    tell_all(found->second, *abort);
  } else {
    if (is_first) found->second.end = *abort;
    mark_ended(found->second);
  }
  tell(found->second, header.worker, from);
  return is_first ? Verdict::job_ended : Verdict::answered_ended;
}

// The pipeline has counted the contribution, and has not summed it. The entry of an ended
// job keeps the slot as it is. Then the slot is made as if the contribution had not come. A packet
// that reached this host for another reason differs in nothing, or was not counted: its worker
// sends it again.
Verdict PipelineSwitch::look_for_mismatch(const core::Header& header, const Job& job) {
  const auto is_counted = [&](const RegisterView& view) {
    const std::uint32_t bit = job.bit_of(header.worker);
    const bool is_open = view.open == header.round && (view.seen & bit) != 0;
    const bool was_last = view.open == header.round + 1 && view.seen == 0 &&
                          !(view.is_complete && view.round == header.round);
    return (is_open || was_last) && signature_of(view) != header.signature;
  };
  std::optional<RegisterView> view = view_of(job, header);
  if (!view || !is_counted(*view)) return Verdict::dropped_foreign_job;
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(header.job);
    if (found == jobs_.end() || found->second.end) return Verdict::dropped_foreign_job;
    mark_ended(found->second);
  }
  view = view_of(job, header);
  core::Abort abort = {core::AbortReason::stopped, 0, 0, {}, {}};
  if (view && view->first_worker < job.workers.size()) {
    take_out(job, header, *view);
    abort = {core::AbortReason::mismatch, job.options.workers[header.worker].first,
             job.options.workers[view->first_worker].first, header.signature, signature_of(*view)};
  }
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end()) return Verdict::dropped_foreign_job;
  tell_all(found->second, abort);
  return Verdict::job_ended;
}

void PipelineSwitch::take_out(const Job& job, const core::Header& header,
                              const RegisterView& view) {
  std::uint32_t seen = view.seen;
  if (view.open != header.round) seen = job.all_bits();  // it was the last one
  seen &= ~job.bit_of(header.worker);
  static_cast<void>(registers_.run(
      *device_, {{.copy = view.copy, .writes_slot = true, .open = header.round, .seen = seen}}));
}

std::optional<PipelineSwitch::Job> PipelineSwitch::find_job(const core::Header& header) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end() || !found->second.is_in_tables) return std::nullopt;
  return found->second;
}

std::optional<RegisterView> PipelineSwitch::view_of(const Job& job, const core::Header& header) {
  const auto views = registers_.run(*device_, {{.copy = copy_of(job.first_slot, header)}});
  if (!views) return std::nullopt;
  return views->front();
}

// If the registers cannot be read, all hear the end: it does no harm.
bool PipelineSwitch::some_chunk_waits_for(const Job& job, std::uint8_t worker) {
  std::vector<RegisterTask> tasks;
  for (std::uint32_t slot = 0; slot < job.options.slot_count; ++slot) {
    tasks.push_back({.copy = (job.first_slot + slot) * 2});
  }
  const auto views = registers_.run(*device_, tasks);
  const std::uint32_t bit = job.bit_of(worker);
  return !views || std::any_of(views->begin(), views->end(), [&](const RegisterView& view) {
    return view.seen != 0 && (view.seen & bit) == 0;
  });
}

void PipelineSwitch::mark_ended(Job& job) {
  if (std::exchange(job.has_ended, true)) return;
  if (job.is_in_tables) write({job_entry(job, v1::Update::MODIFY)});
}

// to every worker whose place is known. A worker that misses it asks, and hears it again.
void PipelineSwitch::tell_all(Job& job, const core::Abort& abort) {
  if (job.end) return;
  job.end = abort;
  mark_ended(job);
  for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
    if (!job.workers[worker].place) continue;
    io::SocketAddress to = job.workers[worker].source;
    to.set_port(job.workers[worker].place->udp_port);
    tell(job, worker, to);
  }
}

void PipelineSwitch::tell(const Job& job, std::uint8_t worker, const io::SocketAddress& to) {
  core::Header header;
  header.kind = core::Kind::aborted;
  header.job = job.options.job;
  header.epoch = job.options.epoch;
  header.worker = worker;
  std::array<std::byte, INFOLD_HEADER_BYTES + sizeof(infold_abort)> datagram;
  core::write_header(header, datagram);
  core::write_abort(*job.end, datagram.data() + INFOLD_HEADER_BYTES);
  const std::array<io::SocketAddress, 1> only = {to};
  socket_.send(only, datagram);
  socket_.flush();
}

}  // namespace infold::p4
