// SPDX-License-Identifier: Apache-2.0
//
// Owners of connections are the test's own here. join_server_test.cc has gRPC.
#include "join/service/acceptor.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "io/address/tcp_connection.h"
#include "io/host/file_descriptor.h"

namespace infold::join {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// Reads until the connection ends, as gRPC does with a client that sends without a pause.
void read_to_the_end(int descriptor) {
  const io::FileDescriptor socket(descriptor);
  for (;;) {
    pollfd readable = {socket.get(), POLLIN, 0};
    if (poll(&readable, 1, -1) <= 0) return;
    char bytes[1 << 16];
    if (recv(socket.get(), bytes, sizeof(bytes), 0) <= 0) return;
  }
}

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    AcceptorLimits limits;
    limits.connections_max = limits.connections_of_address_max = 8;
    limits.silence_max = base::seconds(60);
    limits.bytes_per_second_of_address = 8 << 10;
    limits.bytes_at_once_of_address = 1 << 20;
    acceptor_ =
        std::move(*Acceptor::listen(*io::SocketAddress::parse("127.0.0.1:0", "test"), limits));
    acceptor_->start({read_to_the_end, [](const std::string&) { return true; },
                      [this](const std::string&, const std::string& reason) {
                        const base::MutexLock lock(said_mutex_);
                        said_.push_back(reason);
                      }});
  }

  io::FileDescriptor connect() {
    io::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const io::SocketAddress there = acceptor_->address();
    EXPECT_EQ(::connect(socket.get(), there.data(), there.bytes()), 0);
    return socket;
  }

  std::vector<std::string> said() {
    const base::MutexLock lock(said_mutex_);
    return said_;
  }

  base::Mutex said_mutex_;
  std::vector<std::string> said_ GUARDED_BY(said_mutex_);
  std::unique_ptr<Acceptor> acceptor_;  // the last, because its thread uses the others
};

// The owner does not come back from the call that gives it the connection.
TEST_F(AcceptorTest, CountsWhileItHandsAConnectionOver) {
  const io::FileDescriptor flood = connect();
  const std::vector<char> bytes(1 << 16);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool is_closed = false;
  while (!is_closed && std::chrono::steady_clock::now() < end) {
    is_closed = send(flood.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0;
  }
  EXPECT_TRUE(is_closed);
  EXPECT_THAT(said(), Contains("more than 8 KiB a second come from the address"));
}

// Which a client that no longer reads, and whose window is full, would not hear of otherwise.
TEST_F(AcceptorTest, ResetsAConnectionThatItCuts) {
  const io::FileDescriptor flood = connect();
  const timeval patience = {20, 0};
  setsockopt(flood.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const std::vector<char> bytes(4 << 20);
  while (send(flood.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
  }
  EXPECT_THAT(errno, ::testing::AnyOf(ECONNRESET, EPIPE));
}

TEST_F(AcceptorTest, ClosesAConnectionThatItHandedOver) {
  const io::FileDescriptor quiet = connect();
  EXPECT_EQ(send(quiet.get(), "x", 1, MSG_NOSIGNAL), 1);
  pollfd readable = {quiet.get(), POLLIN, 0};
  // The connection is closed where it has been accepted already, else at a later try.
  while (poll(&readable, 1, 10) == 0) acceptor_->close(io::local_address_of(quiet.get()));
  char byte = 0;
  EXPECT_LE(recv(quiet.get(), &byte, 1, 0), 0);
  acceptor_->stop();
  EXPECT_THAT(said(), IsEmpty());
}

}  // namespace
}  // namespace infold::join
