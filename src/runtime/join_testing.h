// SPDX-License-Identifier: Apache-2.0
//
// For tests of joining: ranks that join over loopback, as processes do, but in one process, a
// thread for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <infold/communicator.h>

#include "runtime/switch_server.h"

namespace infold::testing {

inline std::unique_ptr<runtime::SwitchServer> start_switch(const char* listen, unsigned threads = 1,
                                                           std::uint32_t slots = 4096) {
  runtime::SwitchOptions options;
  options.listen = *io::SocketAddress::parse(listen, "test");
  options.threads = threads;
  options.slots = slots;
  auto server = runtime::SwitchServer::start(options);
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

inline JoinOptions options_of(int rank, int world) {
  JoinOptions options;
  options.job = "test";
  options.rank = rank;
  options.world = world;
  options.mtu_bytes = 1500;
  return options;
}

using Body = std::function<void(Communicator&)>;
// A name for each rank's host: those with one name share memory.
using Hosts = std::vector<std::string>;

inline void run_job(int world, const JoinOptions& common, const Body& body,
                    const Hosts& hosts = {}) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = common;
      options.rank = rank;
      options.shared_memory = hosts.empty() ? SharedMemory::off : SharedMemory::always;
      if (!hosts.empty()) options.host = hosts[static_cast<std::size_t>(rank)];
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Sums of several sizes, types and kinds, checked on each rank.
inline void check_sums(Communicator& communicator) {
  const int world = communicator.world();
  for (const std::size_t elements : {1U, 352U, 5000U, 200'000U}) {
    std::vector<float> input(elements), output(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      input[i] = static_cast<float>(static_cast<int>(i % 100) - communicator.rank());
    }
    const auto done = communicator.all_reduce(input, output).wait();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(done->ranks_summed, world);
    const int ranks = world * (world - 1) / 2;
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_EQ(output[i], static_cast<float>(static_cast<int>(i % 100) * world - ranks));
    }
  }
  std::vector<std::int32_t> tensor(3000, communicator.rank());
  ASSERT_TRUE(communicator.broadcast(tensor, world - 1).wait());
  EXPECT_EQ(tensor[2999], world - 1);
  ASSERT_TRUE(communicator.barrier().wait());
}

// A free port, as far as anyone can tell.
inline std::string free_address() {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse("127.0.0.1:0", "test");
  return io::UdpSocket::open(udp)->local_address().text();
}

}  // namespace infold::testing
