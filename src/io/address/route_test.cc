// SPDX-License-Identifier: Apache-2.0
//
// Tests the choice of a route, and the probes that find out what a path carries.

#include "io/address/route.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/udp/path_probe.h"

namespace infold::io {
namespace {

Route route(const char* interface, int speed_mbps, std::int64_t round_trip_us) {
  Route made;
  made.interface = interface;
  made.speed_mbps = speed_mbps;
  made.round_trip = base::microseconds(round_trip_us);
  return made;
}

TEST(Route, TheFasterInterfaceIsBetterThenTheNearerThenTheFirst) {
  EXPECT_EQ(best_route({route("a", 1000, 50), route("b", 25'000, 90)}).interface, "b");
  EXPECT_EQ(best_route({route("a", 25'000, 90), route("b", 1000, 50)}).interface, "a");
  EXPECT_EQ(best_route({route("a", 1000, 90), route("b", 1000, 50)}).interface, "b");
  EXPECT_EQ(best_route({route("a", 0, 90), route("b", 10'000, 50)}).interface, "b");
  EXPECT_EQ(best_route({route("a", 1000, 55), route("b", 1000, 50)}).interface, "a");
  EXPECT_EQ(best_route({route("a", 0, 0)}).interface, "a");
}

TEST(Route, ToThisHostIsTheLoopbackAlone) {
  const auto there = SocketAddress::parse("127.0.0.1:9", "test");
  const auto routes = routes_to(*there);
  ASSERT_TRUE(routes.has_value());
  ASSERT_EQ(routes->size(), 1U);
  EXPECT_EQ(routes->front().interface, "lo");
  EXPECT_EQ(routes->front().local.host_text(), "127.0.0.1");
  EXPECT_GE(routes->front().mtu_bytes, 1500);
}

TEST(Route, HeadersAreLongerOverIpv6) {
  EXPECT_EQ(header_bytes(*SocketAddress::parse("127.0.0.1:9", "test")), 28);
  EXPECT_EQ(header_bytes(*SocketAddress::parse("[::1]:9", "test")), 48);
}

// Stands for a host that echoes probes up to a given size. `forge` may change an echo.
class EchoHost {
 public:
  using Forge = std::function<void(std::span<std::byte> echo)>;

  explicit EchoHost(std::size_t bytes_max, Forge forge = {})
      : socket_(open()),
        bytes_max_(bytes_max),
        forge_(std::move(forge)),
        thread_([this] { run(); }) {}
  ~EchoHost() {
    stops_ = true;
    socket_.wake();
    thread_.join();
  }
  SocketAddress address() const { return socket_.local_address(); }

  static UdpSocket open() {
    UdpOptions options;
    options.bind = *SocketAddress::parse("127.0.0.1:0", "test");
    options.datagram_bytes_max = 4096;
    return std::move(*UdpSocket::open(options));
  }

 private:
  void run() {
    while (!stops_) {
      for (const UdpSocket::Arrival& arrival : socket_.receive()) {
        std::vector<std::byte> datagram(arrival.datagram.begin(), arrival.datagram.end());
        if (datagram.size() > bytes_max_ || !answer_probe(datagram)) continue;
        if (forge_) forge_(datagram);
        const SocketAddress to[] = {*arrival.from};
        socket_.send(to, datagram);
        socket_.flush();
      }
      socket_.wait(base::Instant::never());
    }
  }

  UdpSocket socket_;
  std::size_t bytes_max_;
  Forge forge_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

TEST(PathProbe, TellsAPathFromANarrowOneAndFromNone) {
  UdpSocket socket = EchoHost::open();
  constexpr std::size_t kBytes = 1472;
  {
    EchoHost host(4096);
    const PathReport report = probe_path(socket, host.address(), kBytes, base::seconds(10));
    EXPECT_TRUE(report.answers && report.carries);
    EXPECT_GT(report.round_trip, base::Duration{});
  }
  {
    EchoHost host(1000);
    const PathReport report = probe_path(socket, host.address(), kBytes, base::milliseconds(60));
    EXPECT_TRUE(report.answers);
    EXPECT_FALSE(report.carries);
  }
  const SocketAddress nobody = EchoHost::open().local_address();
  const PathReport report = probe_path(socket, nobody, kBytes, base::milliseconds(60));
  EXPECT_FALSE(report.answers || report.carries);
}

// A stranger that has not seen the probe does not know its number, whatever time it writes there.
TEST(PathProbe, BelievesNoEchoOfAProbeThatItDidNotSend) {
  UdpSocket socket = EchoHost::open();
  for (const std::int64_t written :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, monotonic_now().ns}) {
    EchoHost host(4096, [written](std::span<std::byte> echo) {
      std::memcpy(&echo[8], &written, sizeof(written));
    });
    const PathReport report = probe_path(socket, host.address(), 1472, base::milliseconds(60));
    EXPECT_FALSE(report.answers || report.carries) << written;
  }
}

// A host that answers a small probe with a large echo has not shown that the path carries it.
TEST(PathProbe, BelievesNoEchoOfAnotherLength) {
  UdpSocket socket = EchoHost::open();
  std::vector<std::byte> small;
  EchoHost host(4096, [&small](std::span<std::byte> echo) {
    if (echo.size() == 32) small.assign(echo.begin(), echo.end());
    std::copy(small.begin(), small.end(), echo.begin());
  });
  const PathReport report = probe_path(socket, host.address(), 1472, base::milliseconds(60));
  EXPECT_TRUE(report.answers);
  EXPECT_FALSE(report.carries);
}

TEST(PathProbe, AnswersNothingElse) {
  std::vector<std::byte> packet(64, std::byte{0xF1});
  EXPECT_FALSE(answer_probe(packet));
  packet[0] = std::byte{0xF0};
  EXPECT_TRUE(answer_probe(packet));
  EXPECT_FALSE(answer_probe(packet)) << "an echo";
  packet.resize(31);
  packet[0] = std::byte{0xF0};
  EXPECT_FALSE(answer_probe(packet)) << "too short";
}

}  // namespace
}  // namespace infold::io
