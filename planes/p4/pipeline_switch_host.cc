// SPDX-License-Identifier: Apache-2.0
//
// Handles the packets that the pipeline cannot decide about. It forwards them to this host, which
// does the work of core::Adder's controller.
#include <algorithm>
#include <array>
#include <utility>

#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "planes/p4/job_entries.h"
#include "planes/p4/pipeline_switch.h"

namespace infold::p4 {
namespace {

using core::Verdict;

// Some packets may pass before their job's entries are in place.
constexpr std::uint64_t kStraysOfStarts = 8;

std::uint32_t copy_of(std::uint32_t first_slot, const core::Header& header) {
  return (first_slot + header.slot) * 2 + (header.round & 1);
}

}  // namespace

void PipelineSwitch::watch(base::Duration duration) {
  socket_.wait(io::monotonic_now() + duration);
  device_->watch();
  for (const io::UdpSocket::Arrival& arrival : socket_.receive()) hear(arrival);
  // The device's thread holds the mutex while it waits for the device.
  if (mutex_.try_lock()) {
    const base::MutexLock lock(mutex_, std::adopt_lock);
    write_again();
  }
}

void PipelineSwitch::hear(const io::UdpSocket::Arrival& arrival) {
  if (io::is_probe(arrival.datagram)) {
    const base::MutexLock lock(sending_);
    ++heard_[site::count_index(site::PlaneVerdict::answered_probe)];
    echo_.send(socket_, *arrival.from, arrival.datagram);
    return;
  }
  const base::MutexLock turn(hearing_);
  core::Packet packet;
  const bool is_packet =
      core::parse_at_aggregator(arrival.datagram, packet) == core::Malformed::none;
  const std::optional<Verdict> verdict =
      is_packet ? verdict_on(*arrival.from, packet) : Verdict::dropped_malformed;
  const base::MutexLock lock(sending_);
  if (verdict) {
    ++heard_[site::count_index(*verdict)];
  } else {
    count_stray(*arrival.from);
  }
}

void PipelineSwitch::count_stray(const io::SocketAddress& from) {
  std::uint64_t& strays = heard_[site::count_index(site::PlaneVerdict::dropped_stray)];
  if (++strays != kStraysOfStarts) return;
  io::log(status::LogLevel::warn, "p4_strays",
          {{"from", from.host_text()},
           {"error",
            "packets come past the P4 pipeline, by another network, in fragments, with VLAN tags "
            "or IP options; they are not summed"}});
}

// Repeats the pipeline's checks, because for ABORT the pipeline makes only some of them.
std::optional<Verdict> PipelineSwitch::verdict_on(const io::SocketAddress& from,
                                                  const core::Packet& packet) {
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
    const base::MutexLock lock(mutex_);
    tell(*job, header.worker, from);
    return Verdict::answered_ended;
  }
  if (!fits_limits(header.signature)) return Verdict::dropped_limits;
  const core::Contributors own = {1, 1,
                                  core::rank_digest(job->options.workers[header.worker].first)};
  const bool has_data = header.kind == core::Kind::add;
  if (header.contributors != (has_data ? own : core::Contributors{})) {
    return Verdict::dropped_malformed;
  }
  const std::optional<Verdict> verdict = look_for_mismatch(header, *job);
  return verdict ? verdict : end_beyond_sums(from, header);
}

// Such a rank is refused when it joins, unless this host learns only later where it is.
std::optional<Verdict> PipelineSwitch::end_beyond_sums(const io::SocketAddress& from,
                                                       const core::Header& header) {
  const base::MutexLock lock(mutex_);
  const std::optional<std::uint32_t> port = port_beyond_sums(from);
  const auto found = jobs_.find(header.job);
  // Meanwhile another job may have got the number.
  if (!port || found == jobs_.end() || found->second.options.epoch != header.epoch) {
    return std::nullopt;
  }
  const std::uint16_t rank = found->second.options.workers[header.worker].first;
  io::log(status::LogLevel::error, "p4_other_pipe",
          {{"number", header.job},
           {"rank", rank},
           {"port", *port},
           {"error", "the rank's packets do not reach the pipe that sums; connect it elsewhere"}});
  tell_all(found->second, {core::AbortReason::lost, rank, rank, {}, {}});
  tell(found->second, header.worker, from);
  return Verdict::job_ended;
}

bool PipelineSwitch::fits_limits(const core::ChunkSignature& signature) const {
  const core::SiteRecord& record = limits_.record;
  return record.formats.has(signature.layout().format) &&
         record.reductions.has(signature.reduction()) && signature.elements <= record.elements_max;
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
  const base::MutexLock lock(mutex_);
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

// the pipeline has counted the contribution and spoiled the chunk, so all packets of the
// chunk come here until the job has ended. First the job's entries are marked as ended, so that the
// slot does not change any more. Then the slot is restored to its state without the contribution.
std::optional<Verdict> PipelineSwitch::look_for_mismatch(const core::Header& header,
                                                         const Job& job) {
  const std::uint32_t copy = copy_of(job.first_slot(), header);
  auto view = registers_->look(*device_, copy);
  if (!view) return Verdict::dropped_stale_round;
  if (!view->is_spoiled || view->round != header.round) return std::nullopt;
  // The rank whose call differs repeats its packet as well.
  if (view->signature == header.signature) return Verdict::dropped_stale_round;
  {
    const base::MutexLock lock(mutex_);
    const auto found = jobs_.find(header.job);
    if (found == jobs_.end() || found->second.end) return Verdict::dropped_stale_round;
    mark_ended(found->second);
    if (!found->second.has_ended) return Verdict::dropped_stale_round;
  }
  view = registers_->look(*device_, copy);
  core::Abort abort = {core::AbortReason::stopped, 0, 0, {}, {}};
  if (view && view->first_worker < job.workers.size()) {
    take_out(job, header, *view);
    abort = {core::AbortReason::mismatch, job.options.workers[header.worker].first,
             job.options.workers[view->first_worker].first, header.signature, view->signature};
  }
  const base::MutexLock lock(mutex_);
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end()) return Verdict::dropped_stale_round;
  tell_all(found->second, abort);
  return Verdict::job_ended;
}

void PipelineSwitch::take_out(const Job& job, const core::Header& header, const ChunkView& view) {
  const bool was_last = view.open != header.round;
  const std::uint32_t seen = (was_last ? ~0U : view.seen) & ~bits_of(job, header.worker);
  static_cast<void>(
      registers_->set_slot(*device_, job.first_slot() + header.slot, header.round, seen));
}

std::optional<PipelineSwitch::Job> PipelineSwitch::find_job(const core::Header& header) {
  const base::MutexLock lock(mutex_);
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end() || !found->second.is_in_tables) return std::nullopt;
  return found->second;
}

// If the registers cannot be read, all workers are told of the end, which does no harm.
bool PipelineSwitch::some_chunk_waits_for(const Job& job, std::uint8_t worker) {
  const auto slots = registers_->contributors(*device_, {job.first_slot(), job.options.slot_count});
  const std::uint32_t bits = bits_of(job, worker);
  return !slots || std::any_of(slots->begin(), slots->end(),
                               [&](std::uint32_t seen) { return seen != 0 && (seen & bits) == 0; });
}

void PipelineSwitch::mark_ended(Job& job) {
  if (std::exchange(job.has_ended, true) || !job.is_in_tables) return;
  // if the device refuses, write_again() repeats it
  if (!write(job_entries(program_, job, v1::Update::MODIFY))) job.has_ended = false;
}

// tells every worker whose place is known. A worker that misses the message asks, and is
// told again.
void PipelineSwitch::tell_all(Job& job, const core::Abort& abort) {
  if (job.end) return;
  job.end = abort;
  mark_ended(job);
  const auto workers = static_cast<std::uint8_t>(job.workers.size());
  for (std::uint8_t worker = 0; worker < workers; ++worker) {
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
  const base::MutexLock lock(sending_);
  socket_.send(only, datagram);
  socket_.flush();
}

}  // namespace infold::p4
