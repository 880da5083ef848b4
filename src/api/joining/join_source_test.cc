// SPDX-License-Identifier: Apache-2.0
//
// Tests hosts with several addresses. Packets leave from another address than the connection, which
// announces that address, and packets are accepted only from there (R-007, J-005). All addresses in
// 127.0.0.0/8 belong to this host.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/clock.h"
#include "join/client/job_link.h"

namespace infold::testing {
namespace {

// All connections come from 127.0.0.1; the packets of rank r come from 127.0.1.(r + 1).
std::string address_of(int rank) { return "127.0.1." + std::to_string(rank + 1); }

void run_at_own_addresses(const std::vector<JoinOptions>& all) {
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = all[rank];
      options.rank = static_cast<int>(rank);
      options.address = address_of(options.rank);
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      EXPECT_TRUE(communicator->interface().starts_with(options.address));
      check_sums(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void run_at_own_addresses(int world, const JoinOptions& common) {
  run_at_own_addresses(std::vector(static_cast<std::size_t>(world), common));
}

std::uint64_t wrong_sources(switches::SwitchServer& server) {
  return server.metrics().packets_of("dropped_wrong_source");
}

JoinOptions options_at(const std::string& address, int world, Sites sites = Sites::switches) {
  JoinOptions options = options_of(0, world);
  options.switches = {address};
  options.sites = sites;
  options.shared_memory = SharedMemory::off;
  return options;
}

TEST(JoinSource, PacketsLeaveByAnotherAddressThanTheConnection) {
  const auto server = start_switch("127.0.0.1:0", 2);
  const std::string address = server->join_address().text();
  run_at_own_addresses(3, options_at(address, 3));
  run_at_own_addresses(3, options_at(address, 3, Sites::mixed));
  EXPECT_EQ(wrong_sources(*server), 0U);
}

TEST(JoinSource, RanksThatSumKnowWhereTheOthersAre) {
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::workers;
  options.shared_memory = SharedMemory::off;
  options.rendezvous = free_address();
  run_at_own_addresses(3, options);
}

// Whether the site answers a query that is sent in a worker's name from this address.
bool is_answered(const join::JobTerms& terms, const std::string& site, const std::string& from,
                 std::uint8_t worker) {
  core::Header header;
  header.kind = core::Kind::query;
  header.worker = worker;
  header.job = terms.job;
  header.epoch = terms.epoch;
  header.round = 1;
  std::vector<std::byte> query(INFOLD_HEADER_BYTES);
  core::write_header(header, query);
  // A probe follows the query; its answer shows that the query has been handled.
  std::vector<std::byte> probe(INFOLD_HEADER_BYTES);
  probe[0] = std::byte{INFOLD_PROBE_MAGIC};
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse(from + ":0", "test");
  auto socket = std::move(*io::UdpSocket::open(udp));
  const std::vector to = {*io::SocketAddress::parse(site, "test")};
  socket.send(to, query);
  socket.send(to, probe);
  socket.flush();
  bool is_answered = false;
  for (;;) {
    socket.wait(base::Instant::never());
    for (const io::UdpSocket::Arrival& arrival : socket.receive()) {
      if (arrival.datagram[0] == std::byte{INFOLD_ECHO_MAGIC}) return is_answered;
      is_answered = true;
    }
  }
}

// Joins as the second rank of a job that sums at rank 0. It says hello but does not have a worker.
std::unique_ptr<join::JobLink> join_as_rank_1(const JoinOptions& options,
                                              const std::string& source) {
  join::Hello hello;
  hello.job = options.job;
  hello.rank = 1;
  hello.world = 2;
  hello.datagram_bytes_max = 1472;
  hello.small_slots = 64;
  hello.bulk_slots = 448;
  hello.patience = std::chrono::seconds(10);
  hello.source = *io::SocketAddress::parse_host(source, "test");
  join::JobLink::Limits limits;
  limits.connects_by = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  limits.is_at_rank = true;
  auto link = join::JobLink::join(options.rendezvous, hello, limits);
  EXPECT_TRUE(link.has_value()) << link.error().message;
  if (!link) return nullptr;
  const auto ready = (*link)->ready({});
  EXPECT_TRUE(ready.has_value()) << ready.error().message;
  return std::move(*link);
}

TEST(JoinSource, ARanksOwnSiteDropsWhatTheOthersConnectionsDoNotVouchFor) {
  JoinOptions options = options_of(0, 2);
  options.sites = Sites::workers;
  options.shared_memory = SharedMemory::off;
  options.rendezvous = free_address();
  std::optional<Result<Communicator>> rank_0;
  std::thread joining([&] { rank_0 = Communicator::join(options); });
  const auto rank_1 = join_as_rank_1(options, "127.0.1.2");
  joining.join();
  ASSERT_TRUE(rank_0->has_value()) << rank_0->error().message;
  ASSERT_NE(rank_1, nullptr);
  const std::string site = rank_1->terms().sites.front().address;
  const auto ask = [&](const std::string& from, std::uint8_t worker) {
    return is_answered(rank_1->terms(), site, from, worker);
  };
  EXPECT_TRUE(ask("127.0.1.2", 1));
  EXPECT_FALSE(ask("127.0.0.1", 1)) << "whence the connection comes, which says another source";
  EXPECT_FALSE(ask("127.0.1.3", 1));
  EXPECT_FALSE(ask("127.0.1.2", 0)) << "in the name of the rank that sums";
  EXPECT_TRUE(ask("127.0.1.2", 1)) << "another port";
}

TEST(JoinSource, RacksSendFromTheAddressTheyListenAt) {
  const auto parent = start_switch("127.0.0.1:0");
  const std::string above = parent->join_address().text();
  const auto a = start_switch("127.0.2.1:0", 1, 4096, above);
  const auto b = start_switch("127.0.2.2:0", 1, 4096, above);
  for (const Sites sites : {Sites::switches, Sites::mixed}) {
    std::vector<JoinOptions> all(2, options_at(a->join_address().text(), 5, sites));
    all.insert(all.end(), 2, options_at(b->join_address().text(), 5, sites));
    all.push_back(options_at(above, 5, sites));
    run_at_own_addresses(all);
  }
  for (switches::SwitchServer* const each : {parent.get(), a.get(), b.get()}) {
    EXPECT_EQ(wrong_sources(*each), 0U);
  }
}

// When a switch starts a job, its packet threads get the sources that the job's connections vouch
// for.
TEST(JoinSource, ASwitchDropsWhatItsRanksConnectionsDoNotVouchFor) {
  const auto server = start_switch("127.0.0.1:0");
  join::JobTerms terms;
  terms.job = 7;
  terms.epoch = 9;
  terms.world = 2;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = 8192;
  terms.bulk_slots = 8;
  terms.rank_sources = {*io::SocketAddress::parse_host("127.0.1.1", "test"),
                        *io::SocketAddress::parse_host("::ffff:127.0.1.2", "test")};
  ASSERT_TRUE(server->start_job(terms).has_value());
  const auto ask = [&](const std::string& from, std::uint8_t worker) {
    return is_answered(terms, server->sites().front().address, from, worker);
  };
  EXPECT_TRUE(ask("127.0.1.1", 0));
  EXPECT_TRUE(ask("127.0.1.2", 1));
  EXPECT_FALSE(ask("127.0.1.2", 0));
  EXPECT_FALSE(ask("127.0.0.1", 1));
  EXPECT_TRUE(ask("127.0.1.2", 1)) << "another port of the worker's host";
  EXPECT_EQ(wrong_sources(*server), 2U);
}

}  // namespace
}  // namespace infold::testing
