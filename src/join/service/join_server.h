// SPDX-License-Identifier: Apache-2.0
//
// Serves a Registrar over gRPC (proto/infold/v1/control.proto). If a stream breaks, its rank is
// lost.
//
// Its threads and memory are bounded, however many ranks connect. It has two threads that accept,
// at most three of the registrar, and a few of gRPC for each processor. It needs memory for each
// connection and stream that it lets in.
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

// The descriptors that a switch asks the system for: twice connections_max below.
inline constexpr std::size_t kDescriptorsWanted = 16'384;
// The descriptors for the process's other files: packet sockets, shared memory, the program's own
// files.
inline constexpr std::uint32_t kDescriptorsKept = 128;
// Returns how many of the wanted connections a process with this limit of descriptors can serve.
std::uint32_t connections_within(std::size_t descriptors, std::uint32_t wanted);

struct ServerOptions {
  // Room for a connection of each rank, and for as many again that have said nothing yet. There are
  // fewer if the process may not have as many descriptors.
  std::uint32_t connections_max = 8192;
  std::uint32_t connections_of_address_max = 6144;
  // At one address, 512 ranks a second may begin to join, and 2048 at once. Each counts for a
  // message of 4 KiB and a connection of 4 KiB.
  std::uint32_t bytes_per_second_of_address = 4 << 20;
  std::uint32_t bytes_at_once_of_address = 16 << 20;
  // The longest wait for each of these: the first bytes, the HTTP/2 preface, and a stream's Hello.
  base::Duration silence_max = base::seconds(10);
  base::Duration write_max = base::seconds(5);  // for a rank to take a message
  StreamLimits streams = {};
  EventListener on_event = log_event;
};

class JoinServer {
 public:
  // `registrar` must outlive the server. The error says why the address cannot be used. Throws
  // std::system_error if no thread can be started.
  static base::Result<std::unique_ptr<JoinServer>> start(const io::SocketAddress& listen,
                                                         Registrar& registrar,
                                                         ServerOptions options = {});
  // Stops the registrar, waits a moment for ranks to leave, and cuts off those that do not.
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  io::SocketAddress address() const;

  // The most that the server adds to an idle process.
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
