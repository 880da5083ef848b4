// SPDX-License-Identifier: Apache-2.0
//
// The aggregator behind a socket as a plane, for jobs whose vectors name ports. Packets travel over
// loopback. Each worker has two ports. A packet that arrives at neither of them has port 0.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/udp/udp_socket.h"
#include "site/aggregation_site.h"
#include "tests/conformance/planes/plane.h"

namespace infold::conformance {

class SitePlane final : public Plane {
 public:
  // If the pointer is null, the scalar loops add.
  explicit SitePlane(const core::Arithmetic* arithmetic);

  std::string configure(const PlaneJob& job) override;
  void inject(std::span<const std::byte> datagram, From from, std::uint16_t port) override;
  std::vector<Outgoing> collect() override { return std::move(sent_); }
  std::optional<std::string> drop_reason() override;

 private:
  struct Place {
    From from = From::worker;
    std::uint8_t worker = 0;
    std::uint16_t port = 1;
    io::UdpSocket socket;
  };

  Place& place_of(From from, std::uint8_t worker, std::uint16_t port);
  void send(Place& place, std::span<const std::byte> datagram);
  void serve(std::size_t datagrams);
  void take_until_echo(Place& place);

  const core::Arithmetic* arithmetic_;
  std::optional<site::AggregationSite> site_;
  std::array<io::SocketAddress, 1> address_;
  std::vector<Place> places_;
  std::vector<Outgoing> sent_;
  site::PacketCounts before_{};
};

}  // namespace infold::conformance
