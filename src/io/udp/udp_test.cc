// SPDX-License-Identifier: Apache-2.0
//
// Tests UDP over loopback, with and without offloads: datagrams must arrive complete and separate.

#include <algorithm>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/udp/udp_endpoint.h"
#include "io/udp/udp_socket.h"
#include "io/udp/udp_testing.h"

namespace infold::io {
namespace {

struct Kind {
  const char* address;
  bool offload;
};

class Udp : public testing::TestWithParam<Kind> {
 protected:
  UdpSocket open() const {
    UdpOptions options;
    options.bind = loopback(GetParam().address);
    options.offload = GetParam().offload;
    return std::move(*UdpSocket::open(options));
  }
};

// Over IPv6, a checksum is mandatory. Over IPv4, the filter drops the datagram before the
// socket counts it.
TEST_P(Udp, DropsDatagramsWithoutAChecksum) {
  UdpSocket to = open();
  UdpSocket from = open();
  const std::vector<SocketAddress> address = {to.local_address()};
  const auto send = [&](std::size_t number, int without) {
    setsockopt(from.descriptor(), SOL_SOCKET, SO_NO_CHECK, &without, sizeof(without));
    const auto datagram = datagram_of(100, number);
    from.send(address, datagram);
    from.flush();
  };
  if (!to.local_address().is_ipv6()) send(1, 1);
  send(2, 0);
  EXPECT_EQ(receive(to, 1), Datagrams{datagram_of(100, 2)});
}

TEST_P(Udp, KeepsDatagramsApartWhateverTheirSizes) {
  UdpSocket a = open();
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  Datagrams sent, received;
  // Trains fill up, end with a shorter datagram, and begin again with a longer one.
  for (std::size_t i = 0; i < 300; ++i) {
    sent.push_back(datagram_of(i % 100 == 99 ? 64 : i < 150 ? 1452 : 700, i));
    a.send(to, sent.back());
    receive_more(b, received);  // an ordinary user's buffer holds fewer than 100 datagrams
  }
  a.flush();
  EXPECT_FALSE(a.is_blocked());
  EXPECT_EQ(receive(b, sent.size(), received), sent);
  EXPECT_EQ(b.counters().datagrams_received, 300U);
  EXPECT_LE(a.counters().calls_sent, a.sends_trains() ? 30U : 300U);
}

TEST_P(Udp, SendsToAllOfAList) {
  UdpSocket a = open();
  std::vector<UdpSocket> others;
  std::vector<SocketAddress> to;
  for (int i = 0; i < 5; ++i) to.push_back(others.emplace_back(open()).local_address());
  for (std::size_t i = 0; i < 90; ++i) a.send(to, datagram_of(1000, i));
  a.flush();
  for (UdpSocket& other : others) {
    const auto datagrams = receive(other, 90);
    ASSERT_EQ(datagrams.size(), 90U);
    for (std::size_t i = 0; i < 90; ++i) EXPECT_EQ(datagrams[i], datagram_of(1000, i));
  }
}

TEST_P(Udp, CountsBytesAndWhatIsNoDatagramOfOurs) {
  UdpOptions longer;
  longer.bind = loopback(GetParam().address);
  longer.offload = GetParam().offload;
  longer.datagram_bytes_max = 2000;
  UdpSocket a = std::move(*UdpSocket::open(longer));
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address(), b.local_address()};
  // One datagram is longer than b accepts, and one is shorter than a header.
  for (const std::size_t bytes : {1000, 2000, 20, 40}) {
    a.send(to, datagram_of(bytes, bytes));
    a.flush();
  }
  EXPECT_EQ(receive(b, 4).size(), 4U);
  EXPECT_EQ(a.counters().bytes_sent, 2U * (1000 + 2000 + 20 + 40));
  EXPECT_EQ(b.counters().bytes_received, 2U * (1000 + 40));
  EXPECT_EQ(b.counters().misfits, 4U);
}

TEST_P(Udp, KeepsWhatTheKernelHasNoRoomFor) {
  UdpOptions options;
  options.bind = loopback(GetParam().address);
  options.offload = GetParam().offload;
  options.send_buffer_bytes = 1;  // the kernel raises this to its minimum
  options.keeps_blocked = true;
  UdpSocket a = std::move(*UdpSocket::open(options));
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  Datagrams received;
  const auto flush = [&] {
    for (a.flush(); a.is_blocked(); a.flush()) {
      receive_more(b, received);
      a.wait(monotonic_now() + base::milliseconds(10));
    }
  };
  for (std::size_t i = 0; i < 2000; ++i) {
    a.send(to, datagram_of(1400, i));
    if (a.is_blocked() || i % 50 == 49) flush();
  }
  EXPECT_EQ(a.counters().blocked, 0U);
  const Datagrams datagrams = receive(b, 2000, received);
  ASSERT_EQ(datagrams.size(), 2000U);
  EXPECT_EQ(datagrams.back(), datagram_of(1400, 1999));
}

// Sends as a driver does: from place(), or from memory of its own if there is no place. Returns the
// place.
const std::byte* send_in_place(UdpSocket& from, std::span<const SocketAddress> to,
                               const std::vector<std::byte>& datagram) {
  const std::span<std::byte> place = from.place();
  if (place.empty()) {
    from.send(to, datagram);
    return nullptr;
  }
  std::copy(datagram.begin(), datagram.end(), place.begin());
  from.send(to, place.first(datagram.size()));
  return place.data();
}

// Datagrams arrive whatever the order of destinations, whether the socket predicts it or not.
TEST_P(Udp, SendsWhatIsInItsPlaceToDestinationsInAnyOrder) {
  UdpSocket a = open();
  UdpSocket b = open();
  UdpSocket c = open();
  const std::vector<SocketAddress> both = {b.local_address(), c.local_address()};
  const std::span<const SocketAddress> to_b(both.data(), 1);
  const std::span<const SocketAddress> to_c(both.data() + 1, 1);
  Datagrams sent_to_b, sent_to_c, at_b, at_c;
  // Trains fill, end with a shorter datagram, and begin again with a longer one.
  for (std::size_t i = 0; i < 900; ++i) {
    const std::size_t bytes = i % 50 == 49 ? 64 : i % 70 == 69 ? 1472 : 1452;
    const std::vector<std::byte> datagram = datagram_of(bytes, i);
    const std::size_t choice = i < 450 ? i % 3 : i * i % 7 % 3;
    send_in_place(a, choice == 2 ? both : choice == 0 ? to_b : to_c, datagram);
    if (choice != 1) sent_to_b.push_back(datagram);
    if (choice != 0) sent_to_c.push_back(datagram);
    if (i % 60 == 59) a.flush();
    receive_more(b, at_b);
    receive_more(c, at_c);
  }
  a.flush();
  at_b = receive(b, sent_to_b.size(), at_b);
  at_c = receive(c, sent_to_c.size(), at_c);
  // Trains to one destination and trains to both may overtake each other.
  for (Datagrams* const each : {&sent_to_b, &sent_to_c, &at_b, &at_c}) {
    std::sort(each->begin(), each->end());
  }
  EXPECT_EQ(at_b, sent_to_b);
  EXPECT_EQ(at_c, sent_to_c);
}

TEST_P(Udp, PlacesADatagramBehindTheTrainToItsDestination) {
  UdpSocket a = open();
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  const std::byte* const first = send_in_place(a, to, datagram_of(1000, 0));
  EXPECT_EQ(a.place().data(), first + 1000);
  EXPECT_EQ(a.place().data(), first + 1000) << "what was not sent takes no room";
  a.send(to, datagram_of(1000, 1));
  EXPECT_EQ(send_in_place(a, to, datagram_of(500, 2)), first + 2000);
  EXPECT_TRUE(a.place().empty()) << "a shorter datagram ends a train";
  a.flush();
  EXPECT_EQ(a.place().data(), first) << "all has gone out";
  EXPECT_EQ(receive(b, 3),
            (Datagrams{datagram_of(1000, 0), datagram_of(1000, 1), datagram_of(500, 2)}));
}

TEST_P(Udp, PredictsDestinationsInTurn) {
  UdpSocket a = open();
  UdpSocket b = open();
  const std::vector<SocketAddress> to(3, b.local_address());
  std::vector<const std::byte*> places;
  for (std::size_t i = 0; i < 12; ++i) {
    places.push_back(send_in_place(a, std::span(to).subspan(i % 3, 1), datagram_of(1000, i)));
    if (i == 5) a.flush();
  }
  a.flush();
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(places[i + 3], places[i] + 1000) << i;
  EXPECT_EQ(receive(b, 12).size(), 12U);
}

// A lossy endpoint duplicates datagrams in this way. The first of the two may complete a train.
TEST_P(Udp, SendsADatagramInItsPlaceTwice) {
  UdpSocket a = open();
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  Datagrams sent, received;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::vector<std::byte> datagram = datagram_of(1452, i);
    const std::span<std::byte> place = a.place();
    std::copy(datagram.begin(), datagram.end(), place.begin());
    for (int copy = 0; copy < 2; ++copy) {
      a.send(to, place.first(datagram.size()));
      sent.push_back(datagram);
    }
    receive_more(b, received);
  }
  a.flush();
  EXPECT_EQ(receive(b, sent.size(), received), sent);
}

TEST_P(Udp, AnyThreadMayWakeAWaitingOne) {
  UdpSocket a = open();
  a.wake();
  a.wait(base::Instant::never());
}

TEST_P(Udp, CountersAreReadWhileAnotherThreadReceives) {
  UdpSocket a = open();
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  std::thread receiver([&b] { receive(b, 200); });
  std::uint64_t seen = 0;
  const base::Instant end = monotonic_now() + base::seconds(10);
  for (std::size_t i = 0; seen < 200 && monotonic_now() < end; ++i) {
    if (i < 200) a.send(to, datagram_of(200, i));
    a.flush();
    EXPECT_LE(seen, b.counters().datagrams_received);
    seen = b.counters().datagrams_received;
  }
  receiver.join();
  EXPECT_EQ(seen, 200U);
}

// The kernel refuses a train to port 0 as it refuses a train on a path that cannot cut it. Earlier,
// one such destination ended trains to all destinations.
TEST_P(Udp, ADestinationThatTakesNoTrainsKeepsOthersTrains) {
  UdpSocket a = open();
  UdpSocket b = open();
  const bool had_trains = a.sends_trains();
  SocketAddress nowhere = b.local_address();
  nowhere.set_port(0);
  const std::vector<SocketAddress> bad = {nowhere};
  const std::vector<SocketAddress> both = {nowhere, b.local_address()};
  for (std::size_t i = 0; i < 40; ++i) a.send(bad, datagram_of(1000, i));
  for (std::size_t i = 0; i < 40; ++i) a.send(both, datagram_of(1000, i));
  a.flush();
  EXPECT_FALSE(a.is_blocked());
  EXPECT_EQ(receive(b, 40).size(), 40U);
  EXPECT_EQ(a.counters().refused, 80U);
  EXPECT_EQ(a.counters().calls_sent, had_trains ? 1U : 40U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Udp,
                         testing::Values(Kind{"127.0.0.1:0", true}, Kind{"127.0.0.1:0", false},
                                         Kind{"[::1]:0", true}, Kind{"[::1]:0", false}),
                         [](const auto& each) {
                           return std::string(each.param.address[0] == '[' ? "V6" : "V4") +
                                  (each.param.offload ? "Trains" : "Plain");
                         });

TEST(UdpEndpoint, DropsWhatStrangersSend) {
  UdpOptions options;
  options.bind = loopback("127.0.0.1:0");
  UdpSocket friendly = std::move(*UdpSocket::open(options));
  UdpSocket stranger = std::move(*UdpSocket::open(options));
  UdpSocket own = std::move(*UdpSocket::open(options));
  const std::vector<SocketAddress> to = {own.local_address()};
  UdpEndpoint endpoint(std::move(own), {friendly.local_address()});
  stranger.send(to, datagram_of(100, 1));
  stranger.flush();
  friendly.send(to, datagram_of(100, 2));
  friendly.flush();
  std::size_t count = 0;
  const base::Instant end = monotonic_now() + base::seconds(10);
  while (count == 0 && monotonic_now() < end) {
    endpoint.wait(end);
    for (const Received& received : endpoint.receive()) {
      ++count;
      EXPECT_EQ(received.from, Neighbour{0});
      EXPECT_EQ(received.datagram[0], std::byte{2});
    }
  }
  EXPECT_EQ(count, 1U);
}

TEST(UdpEndpoint, CountsPacketsAndTheMessagesThatCarryThem) {
  UdpOptions options;
  options.bind = loopback("127.0.0.1:0");
  UdpSocket target = std::move(*UdpSocket::open(options));
  UdpSocket own = std::move(*UdpSocket::open(options));
  const std::vector<SocketAddress> back = {own.local_address()};
  const bool sends_trains = own.sends_trains();
  UdpEndpoint endpoint(std::move(own), {target.local_address()});
  for (std::size_t i = 0; i < 5; ++i) endpoint.send(Neighbour{0}, datagram_of(100, i));
  endpoint.flush();
  EXPECT_EQ(receive(target, 5).size(), 5U);
  for (std::size_t i = 0; i < 3; ++i) target.send(back, datagram_of(100, i));
  target.flush();
  std::size_t arrived = 0;
  const base::Instant end = monotonic_now() + base::seconds(10);
  while (arrived < 3 && monotonic_now() < end) {
    endpoint.wait(end);
    arrived += endpoint.receive().size();
  }
  EXPECT_EQ(arrived, 3U);
  const EndpointCounters counters = endpoint.counters();
  EXPECT_EQ(counters.sent, 5U);
  EXPECT_EQ(counters.messages_sent, sends_trains ? 1U : 5U);
  EXPECT_GE(counters.messages_received, 1U);
  EXPECT_LE(counters.messages_received, 3U);
}

TEST(UdpSocket, SaysWhyItCannotOpen) {
  UdpOptions options;
  options.bind = loopback("127.0.0.1:0");
  const UdpSocket first = std::move(*UdpSocket::open(options));
  options.bind = first.local_address();
  const auto second = UdpSocket::open(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_STREQ(second.error().detail, "the address is in use");
}

}  // namespace
}  // namespace infold::io
