// SPDX-License-Identifier: Apache-2.0
//
// A listening TCP socket, a thread that accepts and counts, and one that hands connections on. A
// connection is handed on when its first bytes have come, so that a silent one costs a descriptor
// for a while and nothing else. Survives a shortage of descriptors: with a spare one it turns
// connections away, and it accepts again as soon as descriptors are free. The acceptor can close
// connections that it has handed on: those from an address, when asked, and those of one that
// sends more than it may.
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
  // Over all connections of an address.
  std::uint32_t bytes_per_second_of_address = 0;
  std::uint32_t bytes_at_once_of_address = 0;
};

class Acceptor {
 public:
  // `take` owns the descriptor, which is not blocking. `turned_away` gets the reason for which a
  // connection was closed. The acceptor's thread calls the others, a thread of its own `take`.
  struct Users {
    std::function<void(int descriptor)> take;
    std::function<bool(const std::string& address)> may_connect;
    std::function<void(const std::string& address, const std::string& reason)> turned_away;
  };

  // Connections wait in the queue until start(). The error says why the address cannot be used.
  static base::Result<std::unique_ptr<Acceptor>> listen(const io::SocketAddress& address,
                                                        const AcceptorLimits& limits);
  ~Acceptor();
  // Once. Throws std::system_error without a thread.
  void start(Users users);
  void stop();  // accepts no more; connections that were handed on stay
  // Soon, where there is one from that address. Any thread.
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
