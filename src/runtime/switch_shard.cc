// SPDX-License-Identifier: Apache-2.0
//
// Reads a batch, lets the aggregators answer, sends the answers as trains, and sleeps when there
// is nothing to read.
#include "runtime/switch_shard.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <utility>

#include "base/check.h"
#include "io/clock.h"
#include "io/path_probe.h"
#include "runtime/driver_thread.h"
#include "wire/infold_wire.h"

namespace infold::runtime {
namespace {

constexpr std::size_t kJobNumbers = 1 << 16;

// Of a sender that knew the job and its epoch.
bool was_accepted(core::Verdict verdict) {
  return verdict <= core::Verdict::answered_aborted ||
         verdict == core::Verdict::dropped_stale_round ||
         verdict == core::Verdict::dropped_early_round;
}

// Of no job here, as an aggregator would put it.
core::Verdict judge_unknown(std::span<const std::byte> datagram) {
  core::Packet packet;
  return core::parse(datagram, packet) == core::Malformed::none ? core::Verdict::dropped_foreign_job
                                                                : core::Verdict::dropped_malformed;
}

void add_verdicts(const core::VerdictCounters& verdicts, PacketCounts& sum) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) sum[i] += verdicts[i];
}

}  // namespace

SwitchShard::SwitchShard(io::UdpSocket socket)
    : socket_(std::move(socket)),
      address_(socket_.local_address()),
      uses_trains_(socket_.sends_trains() && socket_.receives_trains()),
      jobs_(kJobNumbers) {
  thread_ = start_driver_thread("infold-shard", [this] { run(); });
}

SwitchShard::~SwitchShard() {
  command([this] {
    for (const std::unique_ptr<Job>& job : jobs_) {
      if (!job) continue;
      job->aggregator.end({core::AbortReason::stopped, 0, 0, {}, {}});
      send(*job);
    }
    socket_.flush();
    stops_ = true;
  });
  thread_.join();
}

void SwitchShard::add_job(const core::AggregatorOptions& options, std::uint16_t small_slots) {
  CHECK(!options.parent_worker);  // racks below a spine have no wires here
  // The slots' memory is taken and touched here, not on the packet path.
  auto job = std::make_unique<Job>(options, small_slots);
  command([this, &job, number = options.job] {
    jobs_[number].swap(job);
    if (!job) numbers_.push_back(number);
  });
}

void SwitchShard::end_job(std::uint16_t job, const core::Abort& abort) {
  command([this, job, &abort] {
    if (!jobs_[job]) return;
    jobs_[job]->aggregator.end(abort);
    send(*jobs_[job]);
    socket_.flush();
  });
}

void SwitchShard::remove_job(std::uint16_t job) {
  std::unique_ptr<Job> removed;
  command([this, job, &removed] {
    removed.swap(jobs_[job]);
    if (!removed) return;
    std::erase(numbers_, job);
    add_verdicts(removed->aggregator.counters(), past_);
  });
}

ShardStatistics SwitchShard::statistics() {
  ShardStatistics statistics;
  command([this, &statistics] {
    statistics.socket = socket_.counters();
    statistics.packets = past_;
    statistics.packets[count_index(core::Verdict::dropped_malformed)] += statistics.socket.misfits;
    for (const std::uint16_t number : numbers_) {
      const core::Aggregator& aggregator = jobs_[number]->aggregator;
      statistics.jobs.push_back({number, aggregator.counters(), aggregator.memory_bytes()});
      add_verdicts(aggregator.counters(), statistics.packets);
    }
  });
  return statistics;
}

// Runs it on the shard's thread, between two batches, and waits for it.
void SwitchShard::command(std::function<void()> action) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back([&] {
      action();
      done.set_value();
    });
    has_commands_.store(true, std::memory_order_release);
  }
  socket_.wake();
  done.get_future().wait();
}

void SwitchShard::run() {
  for (;;) {
    if (has_commands_.load(std::memory_order_acquire)) run_commands();
    if (stops_) return;
    const std::span<const io::UdpSocket::Arrival> batch = socket_.receive();
    for (const io::UdpSocket::Arrival& arrival : batch) handle(arrival);
    socket_.flush();
    const base::Instant now = io::monotonic_now();
    if (!batch.empty()) {
      polling_.found(now);
    } else {
      polling_.wait(now, last_was_small_, [this] { socket_.wait(base::Instant::never()); });
    }
  }
}

void SwitchShard::run_commands() {
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
    has_commands_.store(false, std::memory_order_relaxed);
  }
  for (const std::function<void()>& each : commands) each();
}

void SwitchShard::handle(const io::UdpSocket::Arrival& arrival) {
  if (io::is_probe(arrival.datagram)) {
    echo(arrival);
    return;
  }
  infold_header header{};
  const bool has_header = arrival.datagram.size() >= sizeof(header);
  if (has_header) std::memcpy(&header, arrival.datagram.data(), sizeof(header));
  Job* const job = has_header ? jobs_[infold_from_be16(header.job)].get() : nullptr;
  if (job == nullptr) {
    ++past_[count_index(judge_unknown(arrival.datagram))];
    return;
  }
  last_was_small_ = is_of_small_tensor(arrival.datagram, job->small_slots);
  const core::Verdict verdict = job->aggregator.handle_datagram(arrival.datagram);
  if (was_accepted(verdict)) learn(*job, header.worker, *arrival.from);
  send(*job);
}

// Never larger than what came, so that a forged sender gains nothing by it.
void SwitchShard::echo(const io::UdpSocket::Arrival& probe) {
  ++past_[count_index(PlaneVerdict::answered_probe)];
  echo_.assign(probe.datagram.begin(), probe.datagram.end());
  io::answer_probe(echo_);
  echo_to_[0] = *probe.from;
  socket_.send(echo_to_, echo_);
  socket_.flush();
}

void SwitchShard::learn(Job& job, std::uint8_t worker, const io::SocketAddress& from) {
  if (worker >= job.workers.size() || job.workers[worker] == from) return;
  socket_.flush();  // trains refer to the addresses that they are for
  job.known += job.workers[worker].is_set() ? 0 : 1;
  job.workers[worker] = from;
}

void SwitchShard::send(Job& job) {
  const std::span<const io::SocketAddress> workers = job.workers;
  while (const auto transmit = job.aggregator.poll_transmit()) {
    if (transmit->to == core::Aggregator::To::worker) {
      if (workers[transmit->worker].is_set()) {
        socket_.send(workers.subspan(transmit->worker, 1), transmit->datagram);
      }
    } else if (job.known == workers.size()) {
      socket_.send(workers, transmit->datagram);
    } else {
      for (std::size_t worker = 0; worker < workers.size(); ++worker) {
        if (!workers[worker].is_set()) continue;
        socket_.send(workers.subspan(worker, 1), transmit->datagram);
      }
    }
  }
}

}  // namespace infold::runtime
