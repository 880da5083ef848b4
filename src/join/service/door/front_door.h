// SPDX-License-Identifier: Apache-2.0
//
// A listening TCP socket and a thread that accepts connections, counts them, and listens to each
// until its rank has said Hello. So a stranger meets this thread alone, and ranks that have joined
// are served by another. A connection that says nothing costs a descriptor for a while. Handshakes
// of TLS are computed here as well, and the gate limits them.
//
// It survives a shortage of descriptors: with a spare one it turns connections away, and it accepts
// again as soon as descriptors are free.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"
#include "join/connection/tls_session.h"
#include "join/join_event.h"
#include "join/service/connection_gate.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

// What the door hands on when a rank has said Hello.
struct Arrival {
  io::FileDescriptor socket;
  io::SocketAddress from;
  std::string address;  // as limits name it
  v1::JoinRequest hello;
  std::string rest;                      // what came after the Hello, decrypted
  std::unique_ptr<TlsSession> tls = {};  // null: the connection is plain
};

class FrontDoor {
 public:
  struct Users {
    // Takes over the connection, which the gate counts until it is given back.
    std::function<void(Arrival)> take;
    EventListener on_event;  // hears of those that are turned away
  };

  // Connections wait in the queue until start(). The error says why the address cannot be used.
  // `gate` outlives the door. A connection without a Hello is closed after `silence_max`. With
  // `tls`, the context of a switch, ranks must join with TLS.
  static base::Result<std::unique_ptr<FrontDoor>> listen(
      const io::SocketAddress& address, ConnectionGate& gate, base::Duration silence_max,
      std::shared_ptr<const TlsContext> tls = nullptr);
  ~FrontDoor();
  // Call it once. Throws std::system_error if no thread can be started.
  void start(Users users);
  void stop();  // accepts no more, and closes the connections that it still has
  FrontDoor(const FrontDoor&) = delete;
  FrontDoor& operator=(const FrontDoor&) = delete;

  io::SocketAddress address() const;

 private:
  class State;
  explicit FrontDoor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::join
