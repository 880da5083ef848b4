// SPDX-License-Identifier: Apache-2.0
//
// One thread that serves any number of conversations over TCP. No connection makes another one
// wait: each turn of the loop reads at most one buffer from each connection that is readable, and
// no call blocks.
#pragma once

#include <memory>

#include "base/instant.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"
#include "join/connection/conversation.h"

namespace infold::join {

class ConnectionLoop {
 public:
  // Throws std::system_error if no thread or no file can be had, as std::thread does.
  ConnectionLoop();
  ~ConnectionLoop();  // closes all connections
  ConnectionLoop(const ConnectionLoop&) = delete;
  ConnectionLoop& operator=(const ConnectionLoop&) = delete;

  // Any thread may add a connection, and no call blocks. The socket must be connected and must not
  // block.
  void add(io::FileDescriptor socket, std::shared_ptr<Conversation> conversation);
  // Connects, and tries again until it succeeds or the conversation wishes to close.
  void add(const io::SocketAddress& there, std::shared_ptr<Conversation> conversation);

  // Waits until no connection is left. Returns whether that came before the deadline.
  bool is_empty_by(base::Instant deadline);

 private:
  class WakeList;
  class State;
  std::unique_ptr<State> state_;
};

// Returns the loop that all ranks of this process share. It has its thread for as long as anyone
// keeps it. A process that was forked gets a loop of its own. The loop's thread must not be the
// last one to give it back.
std::shared_ptr<ConnectionLoop> shared_loop();

}  // namespace infold::join
