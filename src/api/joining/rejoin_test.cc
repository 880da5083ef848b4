// SPDX-License-Identifier: Apache-2.0
//
// Tests a job that comes back to several switches while a connection to one of them breaks.
#include <atomic>
#include <latch>
#include <list>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/address/tcp_connection.h"
#include "io/host/file_descriptor.h"
#include "io/memory/doorbell.h"

namespace infold {
namespace {

using testing::free_address;
using testing::options_of;
using testing::start_switch;

// Forwards connections to a switch, and can break one.
class Forwarder {
 public:
  explicit Forwarder(const io::SocketAddress& to) : to_(to) {
    const io::SocketAddress any = *io::SocketAddress::parse("127.0.0.1:0", "test");
    EXPECT_EQ(bind(listener_.get(), any.data(), any.bytes()), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Forwarder() {
    stop_.ring();
    thread_.join();
    for (std::thread& each : forwarding_) each.join();
  }

  std::string address() const { return io::local_address_of(listener_.get()).text(); }
  // The next connection is reset as soon as the rank sends something.
  void break_next() { breaks_next_ = true; }
  bool has_broken() const { return !breaks_next_; }

 private:
  void run() {
    for (;;) {
      pollfd ready[] = {{listener_.get(), POLLIN, 0}, {stop_.descriptor(), POLLIN, 0}};
      poll(ready, 2, -1);
      if (ready[1].revents != 0) return;
      io::FileDescriptor from(accept(listener_.get(), nullptr, nullptr));
      const bool breaks = breaks_next_.exchange(false);
      forwarding_.emplace_back(
          [this, breaks, from = std::move(from)] { forward(from.get(), breaks); });
    }
  }

  void forward(int from, bool breaks) {
    const io::FileDescriptor there(socket(AF_INET, SOCK_STREAM, 0));
    if (connect(there.get(), to_.data(), to_.bytes()) != 0) return;
    for (;;) {
      pollfd ready[] = {
          {from, POLLIN, 0}, {there.get(), POLLIN, 0}, {stop_.descriptor(), POLLIN, 0}};
      poll(ready, 3, -1);
      if (ready[2].revents != 0) return;
      if (ready[0].revents != 0 && breaks) {
        const linger at_once = {1, 0};
        setsockopt(from, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        return;
      }
      if (ready[0].revents != 0 && !pass(from, there.get())) return;
      if (ready[1].revents != 0 && !pass(there.get(), from)) return;
    }
  }

  static bool pass(int from, int to) {
    char bytes[4096];
    const ssize_t count = recv(from, bytes, sizeof(bytes), 0);
    return count > 0 && send(to, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
  }

  const io::SocketAddress to_;
  const io::FileDescriptor listener_{socket(AF_INET, SOCK_STREAM, 0)};
  const io::Doorbell stop_ = std::move(*io::Doorbell::open());
  std::atomic<bool> breaks_next_ = false;
  std::list<std::thread> forwarding_;
  std::thread thread_;
};

// A rank whose connection breaks comes back while the others wait to hear why it went, and then
// leave. The ranks must not continue like that, one after the other, until their deadlines.
TEST(Rejoin, RanksMeetAgainAfterOneOfThemWasCutOff) {
  constexpr int kWorld = 3;
  const std::string address = free_address();
  const auto stays = start_switch("127.0.0.1:0");
  auto goes = start_switch(address);
  Forwarder forwarder(stays->join_address());
  JoinOptions options = options_of(0, kWorld);
  options.switches = {forwarder.address(), address};
  std::latch all_here(kWorld), may_call(1);
  std::thread beside([&] {
    all_here.wait();
    forwarder.break_next();
    goes.reset();
    goes = start_switch(address);
    may_call.count_down();
  });
  testing::run_job(kWorld, options, [&](Communicator& comm) {
    testing::check_sums(comm);
    all_here.count_down();
    may_call.wait();
    testing::check_sums(comm);
  });
  beside.join();
  EXPECT_TRUE(forwarder.has_broken());
}

}  // namespace
}  // namespace infold
