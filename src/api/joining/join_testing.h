// SPDX-License-Identifier: Apache-2.0
//
// For tests of joining: ranks that are threads of one process, but join over loopback as processes
// do.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <infold/communicator.h>

#include "base/prng.h"
#include "io/address/listen.h"
#include "switch/switch_server.h"

namespace infold::testing {

inline std::unique_ptr<switches::SwitchServer> start_switch(const std::string& listen,
                                                            unsigned threads = 1,
                                                            std::uint32_t slots = 4096,
                                                            const std::string& parent = "") {
  switches::SwitchOptions options;
  options.listen = *io::SocketAddress::parse(listen, "test");
  options.threads = threads;
  options.slots = slots;
  if (!parent.empty()) options.parent = *io::SocketAddress::parse(parent, "test");
  auto server = switches::SwitchServer::start(options);
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

inline JoinOptions options_of(int rank, int world) {
  JoinOptions options;
  options.job = "test";
  options.rank = rank;
  options.world = world;
  options.mtu_bytes = 1500;
  options.deadline = std::chrono::minutes(2);  // a busy machine may take ten seconds to join
  return options;
}

using Body = std::function<void(Communicator&)>;
// The name of each rank's host. Ranks on hosts with the same name share memory.
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

// Each rank has a row of its own and the last row. Even ranks pass these rows, odd ranks the whole
// tensor.
inline void check_sparse_sum(Communicator& communicator) {
  constexpr std::size_t kRows = 3000, kLength = 40;
  const int world = communicator.world();
  std::vector<std::int64_t> indices = {communicator.rank() * 5, kRows - 1};
  std::vector<float> values(2 * kLength, 1.0F), whole(kRows * kLength);
  for (const std::int64_t row : indices) {
    std::fill_n(&whole[static_cast<std::size_t>(row) * kLength], kLength, 1.0F);
  }
  Rows rows;
  Handle call = communicator.rank() % 2 == 0
                    ? communicator.all_reduce({indices, values, kRows, kLength}, rows)
                    : communicator.all_reduce(whole, {.layout = Layout::blocks});
  const auto done = call.wait();
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->ranks_summed, world);
  const auto value_of = [&](std::size_t row) {
    if (row == kRows - 1) return static_cast<float>(world);
    return row % 5 == 0 && row / 5 < static_cast<std::size_t>(world) ? 1.0F : 0.0F;
  };
  if (communicator.rank() % 2 == 0) {
    ASSERT_EQ(rows.indices().size(), static_cast<std::size_t>(world) + 1);
    std::fill(whole.begin(), whole.end(), 0.0F);
    for (std::size_t i = 0; i < rows.indices().size(); ++i) {
      std::copy_n(static_cast<const float*>(rows.values().data) + i * kLength, kLength,
                  &whole[static_cast<std::size_t>(rows.indices()[i]) * kLength]);
    }
  }
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i], value_of(i / kLength)) << i;
}

// Makes sums of several sizes, types and kinds, and checks them on each rank.
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
  check_sparse_sum(communicator);
  ASSERT_TRUE(communicator.barrier().wait());
}

// Returns the bits of sums in every format. The values that are summed have all magnitudes, and
// include NaN and infinities.
inline std::vector<std::byte> bits_of_sums(Communicator& communicator) {
  std::vector<std::byte> bits;
  base::Prng prng(static_cast<std::uint64_t>(communicator.rank()) + 1);
  std::vector<float> input(30'011), output(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto mantissa = static_cast<float>(prng.between(-(1 << 24), 1 << 24));
    input[i] = std::ldexp(mantissa, static_cast<int>(prng.between(-60, 20) + i % 7 * 4));
  }
  input[100] = std::numeric_limits<float>::infinity();
  if (communicator.rank() == 1) input[7777] = std::numeric_limits<float>::quiet_NaN();
  for (const WireFormat wire : {WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8,
                                WireFormat::fixed32, WireFormat::native, WireFormat::digits}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
      const auto done =
          communicator.all_reduce(input, output, {.reduction = reduction, .wire = wire}).wait();
      EXPECT_TRUE(done.has_value()) << done.error().message;
      if (!done) return {};
      EXPECT_EQ(done->ranks_summed, communicator.world());
      const auto bytes = std::as_bytes(std::span(output));
      bits.insert(bits.end(), bytes.begin(), bytes.end());
    }
  }
  return bits;
}

// A port that is free for UDP and TCP. No other test takes it meanwhile. The port follows from the
// process number, which differs between concurrent tests. It is also below 32,768, where the ports
// begin that the system gives to sockets that do not ask for one.
inline std::string free_address() {
  constexpr unsigned kFirst = 10'000, kPorts = 22'000, kOfProcess = 16;
  static std::atomic<unsigned> next = static_cast<unsigned>(getpid()) * kOfProcess;
  for (;;) {
    const unsigned port = kFirst + next++ % kPorts;
    const auto address = *io::SocketAddress::parse("127.0.0.1:" + std::to_string(port), "test");
    io::UdpOptions udp;
    udp.bind = address;
    if (io::UdpSocket::open(udp) && io::listen_at(address, "test")) return address.text();
  }
}

}  // namespace infold::testing
