// SPDX-License-Identifier: Apache-2.0
//
// Sends one datagram, and then a probe from every place. The probe's echo is the last
// packet that arrives at each place.
#include "tests/conformance/planes/site_plane.h"

#include <algorithm>

#include "base/check.h"
#include "tests/conformance/planes/software_plane.h"

namespace infold::conformance {
namespace {

constexpr std::uint16_t kPortsOfAWorker = 2;
constexpr char kWorkers[] = "127.0.0.1";
constexpr char kParent[] = "127.0.0.2";
constexpr char kElsewhere[] = "127.0.0.3";

io::UdpSocket open_at(const std::string& host) {
  io::UdpOptions options;
  options.bind = *io::SocketAddress::parse(host + ":0", "test");
  auto socket = io::UdpSocket::open(options);
  CHECK(socket.has_value());
  return std::move(*socket);
}

std::uint8_t worker_in(std::span<const std::byte> datagram) {
  constexpr std::size_t kAt = offsetof(infold_header, worker);
  return datagram.size() > kAt ? std::to_integer<std::uint8_t>(datagram[kAt]) : 0;
}

}  // namespace

SitePlane::SitePlane(const core::Arithmetic* arithmetic) : arithmetic_(arithmetic) {}

std::string SitePlane::configure(const PlaneJob& job) {
  core::AggregatorOptions options = aggregator_options(job);
  options.arithmetic = arithmetic_;
  places_.clear();
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    for (std::uint16_t port = 1; port <= kPortsOfAWorker; ++port) {
      places_.push_back({From::worker, static_cast<std::uint8_t>(worker), port, open_at(kWorkers)});
    }
  }
  places_.push_back({From::parent, 0, 1, open_at(kParent)});
  places_.push_back({From::elsewhere, 0, 0, open_at(kElsewhere)});
  site::Neighbours neighbours;
  if (job.parent_worker) {
    neighbours.parent = place_of(From::parent, 0, 1).socket.local_address();
  }
  neighbours.workers.resize(job.workers.size(), *io::SocketAddress::parse_host(kWorkers, "test"));
  site_.emplace(open_at(kWorkers));
  address_[0] = site_->address();
  auto added = std::make_unique<site::AggregationSite::Job>(options, std::uint16_t{1}, neighbours);
  site_->swap_job(job.job, added);
  return "";
}

SitePlane::Place& SitePlane::place_of(From from, std::uint8_t worker, std::uint16_t port) {
  const auto place = std::find_if(places_.begin(), places_.end(), [&](const Place& each) {
    if (each.from != from) return false;
    return from != From::worker || (each.worker == worker && each.port == port);
  });
  // A worker number that does not exist sends from any worker's port.
  return place != places_.end() ? *place : places_.front();
}

void SitePlane::send(Place& place, std::span<const std::byte> datagram) {
  place.socket.send(address_, datagram);
  place.socket.flush();
}

void SitePlane::serve(std::size_t datagrams) {
  for (std::size_t served = 0; served < datagrams; served += site_->serve()) {
    site_->wait(base::Instant::never());
  }
}

void SitePlane::inject(std::span<const std::byte> datagram, From from, std::uint16_t port) {
  sent_.clear();
  before_ = site_->statistics().packets;
  send(place_of(from, worker_in(datagram), port), datagram);
  serve(1);
  std::vector<std::byte> probe(INFOLD_HEADER_BYTES);
  probe[0] = std::byte{INFOLD_PROBE_MAGIC};
  for (Place& place : places_) send(place, probe);
  serve(places_.size());
  for (Place& place : places_) take_until_echo(place);
}

void SitePlane::take_until_echo(Place& place) {
  for (;;) {
    place.socket.wait(base::Instant::never());
    for (const io::UdpSocket::Arrival& arrival : place.socket.receive()) {
      if (arrival.datagram[0] == std::byte{INFOLD_ECHO_MAGIC}) return;
      Outgoing& out = sent_.emplace_back();
      out.to = place.from == From::parent ? Outgoing::To::parent : Outgoing::To::worker;
      out.worker = place.worker;
      out.port = place.port;
      out.datagram.assign(arrival.datagram.begin(), arrival.datagram.end());
    }
  }
}

std::optional<std::string> SitePlane::drop_reason() {
  const site::PacketCounts after = site_->statistics().packets;
  const std::string prefix = "dropped_";
  for (std::size_t i = 0; i < site::count_index(core::Verdict::count_); ++i) {
    const std::string name = core::verdict_name(static_cast<core::Verdict>(i));
    if (after[i] != before_[i] && name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return "";
}

}  // namespace infold::conformance
