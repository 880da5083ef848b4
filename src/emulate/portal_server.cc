// SPDX-License-Identifier: Apache-2.0
#include "emulate/portal_server.h"

#include <algorithm>
#include <thread>

#include "core/packet/packet.h"
#include "io/host/clock.h"

namespace infold::emulate {
namespace {

// A thread that sleeps is woken late by its timer's slack and by the time that waking takes. So the
// thread does not sleep before an event that is this near.
constexpr base::Duration kAwake = base::microseconds(150);
// Of all sockets together, so that many do not take more memory than one.
constexpr int kBufferBytes = 16 << 20;
constexpr int kBufferBytesMin = 1 << 20;

void add_to(EmulationReport& report, const EmulatedJob& job) {
  report.counters += job.counters();
  report.lateness += job.lateness();
}

}  // namespace

base::Result<std::unique_ptr<PortalServer>> PortalServer::open(const EmulationOptions& options) {
  RealSwitches switches = switches_of(options.placement, options.real);
  const std::size_t sites = options.placement.weights.size();
  const auto count = static_cast<int>(switches.racks.size() * sites);
  base::Result<io::ReadySet> ready = io::ReadySet::open();
  if (!ready) return tl::unexpected(ready.error());
  io::UdpOptions udp;
  udp.bind = options.listen;
  udp.datagram_bytes_max = kDatagramBytesMax;
  udp.receive_buffer_bytes = udp.send_buffer_bytes =
      std::max(kBufferBytes / count, kBufferBytesMin);
  std::vector<io::UdpSocket> sockets;
  for (int i = 0; i < count; ++i) {
    base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
    if (!socket) return tl::unexpected(socket.error());
    const auto number = static_cast<std::uint32_t>(sockets.size());
    if (const auto added = ready->add(socket->descriptor(), number); !added) {
      return tl::unexpected(added.error());
    }
    const std::uint16_t port = socket->local_address().port();
    udp.bind.set_port(options.listen.port() == 0 ? 0 : static_cast<std::uint16_t>(port + 1));
    sockets.push_back(std::move(*socket));
  }
  return std::unique_ptr<PortalServer>(
      new PortalServer(std::move(switches), sites, std::move(sockets), std::move(*ready)));
}

PortalServer::PortalServer(RealSwitches switches, std::size_t sites,
                           std::vector<io::UdpSocket> sockets, io::ReadySet ready)
    : switches_(std::move(switches)),
      sites_(sites),
      sockets_(std::move(sockets)),
      ready_(std::move(ready)) {}

std::vector<io::SocketAddress> PortalServer::addresses_of(std::uint32_t real_rank) const {
  std::vector<io::SocketAddress> addresses;
  for (std::size_t site = 0; site < sites_; ++site) {
    addresses.push_back(
        sockets_[socket_of(static_cast<std::uint16_t>(real_rank), site)].local_address());
  }
  return addresses;
}

void PortalServer::add(std::unique_ptr<EmulatedJob> network, const control::JobTerms& terms) {
  Job job;
  job.sources = terms.rank_sources;
  job.sources.resize(terms.world);
  job.addresses.assign(switches_.of_rank.size(), std::vector<Address>(sites_));
  job.ranks.resize(sockets_.size());
  for (std::uint16_t rank = 0; rank < switches_.of_rank.size(); ++rank) {
    for (std::size_t site = 0; site < sites_; ++site) {
      const plan::Position place = plan::position_of(network->scenario().plan.trees[site], rank);
      job.ranks[socket_of(rank, site)][place.worker] = rank;
    }
  }
  job.network = std::move(network);
  jobs_[terms.job] = std::move(job);
}

EmulatedJob::Deliver PortalServer::deliver_to(std::uint16_t number) {
  return [this, number](std::uint16_t rank, std::uint8_t site, std::span<const std::byte> bytes) {
    deliver(number, rank, site, bytes);
  };
}

void PortalServer::deliver(std::uint16_t number, std::uint16_t rank, std::uint8_t site,
                           std::span<const std::byte> datagram) {
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) return;
  const Address& to = job->second.addresses[rank][site];
  if (to[0].is_set()) sockets_[socket_of(rank, site)].send(to, datagram);
}

EmulatedJob* PortalServer::find(std::uint16_t number) {
  const auto job = jobs_.find(number);
  return job == jobs_.end() ? nullptr : job->second.network.get();
}

void PortalServer::remove(std::uint16_t number) {
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) return;
  flush();
  add_to(past_, *job->second.network);
  jobs_.erase(job);
}

EmulationReport PortalServer::report() const {
  EmulationReport report = past_;
  for (const auto& [number, job] : jobs_) add_to(report, *job.network);
  return report;
}

void PortalServer::flush() {
  for (io::UdpSocket& socket : sockets_) socket.flush();
}

std::size_t PortalServer::serve() {
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

void PortalServer::run_jobs(base::Instant now) {
  for (auto& [number, job] : jobs_) job.network->run(now);
}

std::size_t PortalServer::receive(std::size_t socket) {
  const std::span<const io::UdpSocket::Arrival> batch = sockets_[socket].receive();
  if (batch.empty()) return 0;
  const base::Instant now = io::monotonic_now();
  run_jobs(now);
  for (const io::UdpSocket::Arrival& arrival : batch) take(now, socket, arrival);
  return batch.size();
}

void PortalServer::wait(base::Instant deadline) {
  for (const auto& [number, job] : jobs_) {
    deadline = std::min(deadline, job.network->next_event());
  }
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

// A rank is known by the switch that it sends to, by the host that its connection vouches for
// and by its number.
void PortalServer::take(base::Instant now, std::size_t socket,
                        const io::UdpSocket::Arrival& arrival) {
  const io::SocketAddress& from = *arrival.from;
  if (io::is_probe(arrival.datagram)) {
    echo_.send(sockets_[socket], from, arrival.datagram);
    return;
  }
  core::Packet packet;
  if (core::parse(arrival.datagram, packet) != core::Malformed::none) return;
  const core::Header& header = packet.header;
  const auto found = jobs_.find(header.job);
  if (found == jobs_.end() || core::travels_down(header.kind)) return;
  Job& job = found->second;
  const auto rank = job.ranks[socket].find(header.worker);
  if (rank == job.ranks[socket].end()) return;
  const io::SocketAddress& source = job.sources[rank->second];
  if (source.is_set() && !source.is_same_host(from)) return;
  const auto site = static_cast<std::uint8_t>(socket % sites_);
  Address& known = job.addresses[rank->second][site];
  if (!(known[0] == from)) {
    sockets_[socket].flush();  // trains refer to the addresses that they are for
    known[0] = from;
  }
  job.network->take(now, rank->second, site, arrival.datagram);
}

}  // namespace infold::emulate
