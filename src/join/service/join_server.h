// SPDX-License-Identifier: Apache-2.0
//
// Serves a Registrar over gRPC (proto/infold/v1/control.proto). A stream that breaks is a rank
// that is lost.
//
// Its threads and memory are bounded, however many ranks connect: two threads that accept, the
// registrar's three at most, gRPC's, a few for each processor; and memory for each connection and
// stream that it lets in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "io/address/socket_address.h"
#include "join/join_event.h"
#include "join/registrar.h"
#include "join/service/acceptor.h"
#include "join/service/stream_gate.h"

namespace infold::join {

// Descriptors that a switch asks the system for: twice connections_max below.
inline constexpr std::size_t kDescriptorsWanted = 16'384;
// The process' other files: sockets of packets, shared memory, the program's own.
inline constexpr std::uint32_t kDescriptorsKept = 128;
// Of the connections wanted, those that a process with this limit of descriptors can serve.
std::uint32_t connections_within(std::size_t descriptors, std::uint32_t wanted);

struct ServerOptions {
  // A connection for each rank, and as many again that have said nothing yet. Fewer where the
  // process may not have as many descriptors.
  std::uint32_t connections_max = 8192;
  std::uint32_t connections_of_address_max = 6144;
  // 512 ranks a second may begin to join, and 2048 at once, each with a message of 4 KiB, and on a
  // connection that counts as 4 KiB.
  std::uint32_t bytes_per_second_of_address = 4 << 20;
  std::uint32_t bytes_at_once_of_address = 16 << 20;
  // Until the first bytes, the HTTP/2 preface, and a stream's Hello, each.
  base::Duration silence_max = base::seconds(10);
  base::Duration write_max = base::seconds(5);  // for a rank to take a message
  StreamLimits streams = {};
  EventListener on_event = log_event;
};

class JoinServer {
 public:
  // `registrar` outlives the server. The error says why the address cannot be used. Throws
  // std::system_error without a thread.
  static base::Result<std::unique_ptr<JoinServer>> start(const io::SocketAddress& listen,
                                                         Registrar& registrar,
                                                         ServerOptions options = {});
  // Stops the registrar, waits a moment for ranks to leave, and cuts off those that do not.
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  io::SocketAddress address() const;

  // The most that it adds to an idle process.
  struct Budget {
    std::uint32_t connections = 0;
    std::uint32_t threads = 0;
    std::size_t memory_bytes = 0;
  };
  Budget budget() const;

 private:
  class State;
  explicit JoinServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::join
