// SPDX-License-Identifier: Apache-2.0
//
// Slow and odd connections between a rank and its host.
#include "join/client/job_link.h"

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/host/file_descriptor.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::join::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Forwards one connection at a time, and what comes back from the host only after a delay, as a
// host does that has more threads than processors.
class SlowHost {
 public:
  SlowHost(std::uint16_t port, std::chrono::milliseconds delay) : port_(port), delay_(delay) {
    sockaddr_in own = loopback(0);
    socklen_t bytes = sizeof(own);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&own), bytes), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~SlowHost() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void serve() {
    for (;;) {
      const io::FileDescriptor rank(accept(listener_.get(), nullptr, nullptr));
      if (rank.get() < 0) return;
      const io::FileDescriptor host(socket(AF_INET, SOCK_STREAM, 0));
      const sockaddr_in there = loopback(port_);
      if (connect(host.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)) != 0)
        return;
      pollfd end = {listener_.get(), 0, 0};
      if (poll(&end, 1, static_cast<int>(delay_.count())) != 0) return;
      std::array<pollfd, 3> watched = {
          {{rank.get(), POLLIN, 0}, {host.get(), POLLIN, 0}, {listener_.get(), 0, 0}}};
      while (poll(watched.data(), watched.size(), -1) > 0 && watched[2].revents == 0) {
        if (watched[0].revents != 0 && !pass(rank.get(), host.get())) break;
        if (watched[1].revents != 0 && !pass(host.get(), rank.get())) break;
      }
    }
  }
  static bool pass(int from, int to) {
    std::array<char, 4096> piece;
    const ssize_t bytes = read(from, piece.data(), piece.size());
    return bytes > 0 && write(to, piece.data(), static_cast<std::size_t>(bytes)) == bytes;
  }

  const std::uint16_t port_;
  const std::chrono::milliseconds delay_;
  const io::FileDescriptor listener_{socket(AF_INET, SOCK_STREAM, 0)};
  std::string address_;
  std::thread thread_;
};

TEST(JobLink, WaitsForAHostThatIsSlowToAnswer) {
  FakePlane plane(1);
  JobRegistry registry(&plane);
  const auto server = JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry);
  ASSERT_TRUE(server.has_value());
  const SlowHost host((*server)->address().port(), std::chrono::milliseconds(600));
  const auto link = JobLink::join(host.address(), hello_of(0, 1), {});
  ASSERT_TRUE(link.has_value()) << link.error().message;
  EXPECT_TRUE((*link)->ready({}).has_value());
}

}  // namespace
}  // namespace infold::join::testing
