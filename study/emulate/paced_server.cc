// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/paced_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "io/host/clock.h"

namespace infold::emulate {
namespace {

// A sleeping thread wakes late, because of its timer's slack and the time that waking takes. The
// thread therefore does not sleep if the next event is this near.
constexpr base::Duration kAwake = base::microseconds(150);
// All sockets share this size, so that many sockets do not take more memory than one.
constexpr std::size_t kBufferBytes = 16 << 20;
constexpr std::size_t kBufferBytesMin = 1 << 20;
// A socket that receives trains needs a megabyte for them.
constexpr std::size_t kTrainsMax = 64;
constexpr std::size_t kPortMax = 65'535;

tl::unexpected<StartError> failure(const base::Error& error, const io::SocketAddress& address) {
  return tl::unexpected(StartError{error.where, error.detail, address});
}

void add_to(EmulationReport& report, const EmulatedJob& job) {
  report.counters += job.counters();
  report.lateness += job.lateness();
}

}  // namespace

Started<PacedServer::Sockets> PacedServer::open_sockets(io::UdpOptions options, std::size_t count) {
  if (options.bind.port() + count - 1 > kPortMax) {
    return tl::unexpected(StartError{
        "bind",
        fmt::format("{} ports are needed from this one on, and the last port is {}; choose {} or "
                    "a lower one",
                    count, kPortMax, kPortMax + 1 - count),
        options.bind});
  }
  base::Result<io::ReadySet> ready = io::ReadySet::open();
  if (!ready) return failure(ready.error(), options.bind);
  Sockets sockets{{}, std::move(*ready)};
  const std::uint16_t first = options.bind.port();
  options.datagram_bytes_max = kDatagramBytesMax;
  options.offload = count <= kTrainsMax;
  options.receive_buffer_bytes = options.send_buffer_bytes =
      static_cast<int>(std::max(kBufferBytes / count, kBufferBytesMin));
  for (std::size_t i = 0; i < count; ++i) {
    base::Result<io::UdpSocket> socket = io::UdpSocket::open(options);
    if (!socket) {
      auto why = failure(socket.error(), options.bind);
      if (count > 1 && first != 0) {
        why.value().detail += fmt::format("; {} ports from {} on are needed", count, first);
      }
      return why;
    }
    const base::Result<void> added =
        sockets.ready.add(socket->descriptor(), static_cast<std::uint32_t>(i));
    if (!added) return failure(added.error(), options.bind);
    const std::uint16_t port = socket->local_address().port();
    options.bind.set_port(first == 0 ? first : static_cast<std::uint16_t>(port + 1));
    sockets.list.push_back(std::move(*socket));
  }
  return sockets;
}

EmulatedJob* PacedServer::find(std::uint16_t number) {
  const auto job = jobs_.find(number);
  return job == jobs_.end() ? nullptr : job->second.get();
}

void PacedServer::remove(std::uint16_t number) {
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) return;
  flush();
  add_to(past_, *job->second);
  jobs_.erase(job);
  forget(number);
}

EmulationReport PacedServer::report() const {
  EmulationReport report = past_;
  for (const auto& [number, job] : jobs_) add_to(report, *job);
  return report;
}

void PacedServer::flush() {
  for (io::UdpSocket& socket : sockets_) socket.flush();
}

std::size_t PacedServer::serve() {
  std::size_t taken = 0;
  if (sockets_.size() == 1) {
    taken = receive(0);
  } else {
    for (const std::uint32_t socket : ready_.ready()) taken += receive(socket);
  }
  if (taken == 0) run_jobs(io::monotonic_now());
  flush();
  return taken;
}

void PacedServer::run_jobs(base::Instant now) {
  for (const auto& [number, job] : jobs_) job->run(now);
}

std::size_t PacedServer::receive(std::size_t socket) {
  const std::span<const io::UdpSocket::Arrival> batch = sockets_[socket].receive();
  if (batch.empty()) return 0;
  const base::Instant now = io::monotonic_now();
  run_jobs(now);
  for (const io::UdpSocket::Arrival& arrival : batch) take(now, socket, arrival);
  return batch.size();
}

void PacedServer::wait(base::Instant deadline) {
  for (const auto& [number, job] : jobs_) deadline = std::min(deadline, job->next_event());
  if (deadline != base::Instant::never()) {
    if (deadline - io::monotonic_now() < kAwake) {
      std::this_thread::yield();
      return;
    }
    deadline.ns -= kAwake.ns;
  }
  sockets_.size() == 1 ? sockets_.front().wait(deadline)
                       : sockets_.front().wait_beside(deadline, ready_.descriptor());
}

}  // namespace infold::emulate
