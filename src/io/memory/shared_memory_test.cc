// SPDX-License-Identifier: Apache-2.0
//
// Tests endpoints over shared memory, with all ends in one process.

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/host/host_identity.h"
#include "io/host_endpoint.h"
#include "io/memory/shared_memory_endpoint.h"
#include "io/memory/shared_memory_testing.h"

namespace infold::io {
namespace {

using Side = SharedMemoryLink::Side;

// The endpoint of a host and the endpoints of some members, all in this process.
struct Star {
  explicit Star(std::size_t members) {
    Doorbell host_bell = *Doorbell::open();
    std::vector<SharedMemoryLink> links;
    for (std::size_t i = 0; i < members; ++i) {
      const auto both = std::make_shared<SharedMemory>(
          *SharedMemory::create(SharedMemoryLink::memory_bytes(kShape)));
      memory.push_back(both);
      Doorbell bell = *Doorbell::open();
      links.push_back({both, Side::host, *bell.share()});
      std::vector<SharedMemoryLink> own;
      own.push_back({both, Side::member, *host_bell.share()});
      endpoints.push_back(
          std::make_unique<SharedMemoryEndpoint>(std::move(bell), kShape, std::move(own)));
    }
    host = std::make_unique<SharedMemoryEndpoint>(std::move(host_bell), kShape, std::move(links));
  }

  std::vector<std::shared_ptr<SharedMemory>> memory;
  std::vector<std::unique_ptr<SharedMemoryEndpoint>> endpoints;
  std::unique_ptr<SharedMemoryEndpoint> host;
};

TEST(SharedMemoryEndpoint, NeighboursAreLinksTimesChannels) {
  Star star(3);
  EXPECT_EQ(star.host->neighbour_count(), 6U);
  star.endpoints[2]->send(Neighbour{1}, datagram_of(7));
  const auto batch = star.host->receive();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].from, Neighbour{5});
  EXPECT_EQ(number_in(batch[0]), 7U);
  star.host->send(Neighbour{5}, datagram_of(8, 5));
  const auto answer = star.endpoints[2]->receive();
  ASSERT_EQ(answer.size(), 1U);
  EXPECT_EQ(answer[0].from, Neighbour{1});
  EXPECT_EQ(answer[0].datagram.size(), 5U);
  EXPECT_TRUE(star.endpoints[0]->receive().empty());
}

TEST(SharedMemoryEndpoint, AFullQueueBlocksAndDropsUntilItIsRead) {
  Star star(1);
  Endpoint& endpoint = *star.endpoints[0];
  for (std::uint32_t i = 0; i < kShape.places; ++i) {
    EXPECT_FALSE(endpoint.is_blocked());
    endpoint.send(Neighbour{0}, datagram_of(i));
  }
  EXPECT_TRUE(endpoint.is_blocked());
  endpoint.send(Neighbour{0}, datagram_of(99));
  EXPECT_EQ(endpoint.counters().overflowed, 1U);
  endpoint.flush();
  EXPECT_TRUE(endpoint.is_blocked());
  EXPECT_EQ(star.host->receive().size(), kShape.places);
  EXPECT_TRUE(star.host->receive().empty());  // frees the places
  endpoint.wait(base::Instant::never());      // returns, because the reader has rung
  endpoint.flush();
  EXPECT_FALSE(endpoint.is_blocked());
}

TEST(SharedMemoryEndpoint, WaitEndsAtWakeAndAtItsDeadline) {
  Star star(1);
  star.host->wait(monotonic_now() + base::milliseconds(1));
  star.host->wake();
  star.host->wait(base::Instant::never());
  EXPECT_TRUE(star.host->receive().empty());
}

// Each direction carries more datagrams than a queue has places, and each end has a thread. No
// order of sleeping and waking may lose a datagram or end in a standstill.
TEST(SharedMemoryEndpoint, ThreadsPassAllBothWays) {
  constexpr std::uint32_t kDatagrams = 5000;
  constexpr std::size_t kMembers = 3;
  Star star(kMembers);
  const auto send_all = [](Endpoint& endpoint, Neighbour to, std::uint32_t& sent,
                           std::uint32_t allowed) {
    if (endpoint.is_blocked()) endpoint.flush();
    while (sent < allowed && !endpoint.is_blocked()) endpoint.send(to, datagram_of(sent++));
    endpoint.flush();
  };
  std::vector<std::thread> members;
  for (std::size_t member = 0; member < kMembers; ++member) {
    members.emplace_back([&, member] {
      SharedMemoryEndpoint& endpoint = *star.endpoints[member];
      std::uint32_t sent = 0, received = 0;
      while (received < kDatagrams) {
        // The host's replies are dropped if they find no place, and half of the places may be lent
        // to us.
        send_all(endpoint, Neighbour{0}, sent, std::min(kDatagrams, received + kShape.places / 2));
        const auto batch = endpoint.receive();
        for (const Received& each : batch) ASSERT_EQ(number_in(each), received++);
        if (batch.empty()) endpoint.wait(soon());
      }
    });
  }
  std::uint32_t answered = 0;
  while (answered < kMembers * kDatagrams) {
    const auto batch = star.host->receive();
    for (const Received& each : batch) {
      star.host->send(each.from, each.datagram);
      ++answered;
    }
    star.host->flush();
    if (batch.empty()) star.host->wait(soon());
  }
  for (std::thread& member : members) member.join();
  EXPECT_EQ(star.host->counters().overflowed, 0U);
}

TEST(SharedMemoryEndpoint, ARankThatWritesNonsenseIsHeardNoMore) {
  Star star(2);
  star.endpoints[0]->send(Neighbour{0}, datagram_of(1));
  // Overwrites the head of the queue that the first member writes, which is the second of the two.
  const std::uint32_t impossible = 1'000'000;
  std::memcpy(star.memory[0]->bytes().data() + kShape.memory_bytes(), &impossible,
              sizeof(impossible));
  EXPECT_TRUE(star.host->receive().empty());
  for (std::uint32_t i = 0; i < 3; ++i) star.host->send(Neighbour{0}, datagram_of(i));
  star.host->flush();
  EXPECT_EQ(star.host->counters().overflowed, 3U) << "nor is it sent anything";
  EXPECT_FALSE(star.host->is_blocked());
  star.endpoints[1]->send(Neighbour{0}, datagram_of(2));
  EXPECT_EQ(star.host->receive().size(), 1U) << "the other one is not harmed";
}

TEST(HostEndpoint, ReadsMemoryAndNetworkAndWaitsForBoth) {
  Star star(1);
  UdpOptions udp;
  udp.bind = *SocketAddress::parse("127.0.0.1:0", "test");
  UdpSocket parent = std::move(*UdpSocket::open(udp));
  UdpSocket own = std::move(*UdpSocket::open(udp));
  const SocketAddress own_address = own.local_address();
  auto network = std::make_unique<UdpEndpoint>(std::move(own), std::vector{parent.local_address()});
  HostEndpoint endpoint(std::move(star.host), std::move(network));
  const auto receive = [&endpoint] {
    for (;;) {
      const auto batch = endpoint.receive();
      if (!batch.empty()) return batch;
      endpoint.wait(soon());
    }
  };
  const std::vector<std::byte> up = datagram_of(3);
  parent.send(std::span(&own_address, 1), up);
  parent.flush();
  auto batch = receive();
  EXPECT_EQ(batch[0].from, Neighbour{2}) << "after the two channels of memory";
  star.endpoints[0]->send(Neighbour{1}, up);
  star.endpoints[0]->flush();
  batch = receive();
  EXPECT_EQ(batch[0].from, Neighbour{1});
  endpoint.send(Neighbour{2}, up);
  endpoint.flush();
  while (parent.receive().empty()) parent.wait(soon());
}

TEST(SharedMemory, WhatIsNotSealedOrNotOfItsSizeIsRefused) {
  const SharedMemory memory = std::move(*SharedMemory::create(8192));
  EXPECT_FALSE(SharedMemory::map(FileDescriptor(dup(memory.descriptor())), 4096));
  EXPECT_TRUE(SharedMemory::map(FileDescriptor(dup(memory.descriptor())), 8192));
  EXPECT_NE(ftruncate(memory.descriptor(), 4096), 0) << "another rank could cut it off";
  FileDescriptor loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), 8192), 0);
  EXPECT_FALSE(SharedMemory::map(std::move(loose), 8192));
}

TEST(Doorbell, OnlyADoorbellIsAdopted) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor reading(ends[0]);
  EXPECT_FALSE(Doorbell::adopt(FileDescriptor(ends[1])));
  const Doorbell bell = *Doorbell::open();
  EXPECT_TRUE(Doorbell::adopt(FileDescriptor(dup(bell.descriptor()))));
}

TEST(HostIdentity, IsOneForOneNameAndDiffersByName) {
  EXPECT_FALSE(host_identity("").empty());
  EXPECT_EQ(host_identity("a"), host_identity("a"));
  EXPECT_NE(host_identity("a"), host_identity("b"));
}

}  // namespace
}  // namespace infold::io
