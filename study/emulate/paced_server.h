// SPDX-License-Identifier: Apache-2.0
//
// Jobs in step with the wall clock, and the sockets that join them to real parties. Subclasses
// decide what the sockets stand for: switches (portal_server.h) or ranks (at_switch/rank_server.h).
// Used by one thread: a ServeLoop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "io/address/socket_address.h"
#include "io/host/ready_set.h"
#include "io/udp/udp_socket.h"
#include "site/serve_loop.h"
#include "study/emulate/emulated_job.h"

namespace infold::emulate {

// Room for jumbo frames, as at a switch.
inline constexpr std::uint32_t kDatagramBytesMax = 8972;

struct EmulationReport {
  JobCounters counters;  // for all jobs
  Lateness lateness;     // for all jobs
};

// Why an emulator cannot start, with the address that it cannot use.
struct StartError {
  const char* where = "";
  std::string detail;
  io::SocketAddress address;
};
template <typename T>
using Started = tl::expected<T, StartError>;

class PacedServer : public site::PacketServer {
 public:
  // Returns null if there is no such job.
  EmulatedJob* find(std::uint16_t number);
  void remove(std::uint16_t number);
  EmulationReport report() const;
  void flush();

  std::size_t serve() override;
  bool last_was_small() const override { return false; }
  void wait(base::Instant deadline) override;
  void wake() override { sockets_.front().wake(); }

 protected:
  struct Sockets {
    std::vector<io::UdpSocket> list;
    io::ReadySet ready;  // by their places in the list
  };
  // Opens `count` sockets. If the address has a port, the first socket gets it, and the others get
  // the following ports.
  static Started<Sockets> open_sockets(io::UdpOptions options, std::size_t count);

  explicit PacedServer(Sockets sockets)
      : sockets_(std::move(sockets.list)), ready_(std::move(sockets.ready)) {}

  io::UdpSocket& socket(std::size_t index) { return sockets_[index]; }
  const io::UdpSocket& socket(std::size_t index) const { return sockets_[index]; }
  std::size_t socket_count() const { return sockets_.size(); }
  void add(std::uint16_t number, std::unique_ptr<EmulatedJob> job) {
    jobs_[number] = std::move(job);
  }
  // Handles a datagram that has come. All jobs have run up to `now`.
  virtual void take(base::Instant now, std::size_t socket,
                    const io::UdpSocket::Arrival& arrival) = 0;
  // The job is gone, and nothing refers to its addresses any more.
  virtual void forget(std::uint16_t number) = 0;

 private:
  void run_jobs(base::Instant now);
  std::size_t receive(std::size_t socket);

  std::vector<io::UdpSocket> sockets_;
  io::ReadySet ready_;
  std::map<std::uint16_t, std::unique_ptr<EmulatedJob>> jobs_;
  EmulationReport past_;  // for removed jobs
};

}  // namespace infold::emulate
