// SPDX-License-Identifier: Apache-2.0
//
// A listening TCP socket with two threads: one accepts and counts connections, and one hands them
// on. A connection is handed on when its first bytes have come, so that a silent one costs only a
// descriptor for a while. The acceptor survives a shortage of descriptors: with a spare one it
// turns connections away, and it accepts again as soon as descriptors are free. It can close
// connections that it has handed on: those from an address, when asked, and those of an address
// that sends more than it may.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::join {

struct AcceptorLimits {
  std::uint32_t connections_max = 0;
  std::uint32_t connections_of_address_max = 0;
  base::Duration silence_max;  // until the first bytes
  // The limits for all connections of an address together.
  std::uint32_t bytes_per_second_of_address = 0;
  std::uint32_t bytes_at_once_of_address = 0;
};

class Acceptor {
 public:
  // `take` owns the descriptor, which is non-blocking. `turned_away` gets the reason why a
  // connection was closed. A thread of its own calls `take`, and the accepting thread calls the
  // others.
  struct Users {
    std::function<void(int descriptor)> take;
    std::function<bool(const std::string& address)> may_connect;
    std::function<void(const std::string& address, const std::string& reason)> turned_away;
  };

  // Connections wait in the queue until start(). The error says why the address cannot be used.
  static base::Result<std::unique_ptr<Acceptor>> listen(const io::SocketAddress& address,
                                                        const AcceptorLimits& limits);
  ~Acceptor();
  // Call it once. Throws std::system_error if no thread can be started.
  void start(Users users);
  void stop();  // accepts no more; connections that were handed on stay
  // Soon closes the connection from that address, if there is one. Any thread may call it.
  void close(const io::SocketAddress& from);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  io::SocketAddress address() const;

 private:
  class State;
  explicit Acceptor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::join
