// SPDX-License-Identifier: Apache-2.0
//
// Serves a Registrar over TCP (spec/joining.md). A connection that breaks is a rank that is lost.
//
// Its threads and memory are bounded, whoever connects: one thread accepts connections and listens
// to each until its Hello, another serves the ranks that have joined, and each connection has
// buffers of a stated size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "io/address/socket_address.h"
#include "join/join_event.h"
#include "join/registrar.h"
#include "join/service/connection_gate.h"
#include "join/service/rank_conversation.h"
#include "keys/certificate.h"

namespace infold::join {

// Descriptors that a switch asks the system for: twice connections_max.
inline constexpr std::size_t kDescriptorsWanted = 16'384;
// The process' other files: sockets of packets, shared memory, the program's own.
inline constexpr std::uint32_t kDescriptorsKept = 128;
// There is room for 3 jobs of 1024 ranks. With more, the server would need more than 256 MB.
inline constexpr std::uint32_t kTlsConnectionsMax = 3072;
// Of the connections wanted, those that a process with this limit of descriptors can serve.
std::uint32_t connections_within(std::size_t descriptors, std::uint32_t wanted);

struct ServerOptions {
  // Fewer connections where the process may not have as many descriptors.
  ConnectionLimits limits = {};
  ConversationTimes times = {};  // silence_max also counts until the Hello
  EventListener on_event = log_event;
  TokenCheck tokens = TokenCheck();  // of ranks; without a keyring, every rank may join
  // With an identity, ranks must join with TLS and know the identity's fingerprint. The server then
  // has room for at most kTlsConnectionsMax connections, each of which takes more memory.
  std::optional<keys::Identity> identity = {};
};

class JoinServer {
 public:
  // `registrar` outlives the server. The error says why the address or the identity cannot be used.
  // Throws std::system_error without a thread.
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
