// SPDX-License-Identifier: Apache-2.0
//
// How many handshakes of TLS a server is in at once. A connection that finds no place waits for
// one. A place that becomes free goes to the addresses in turn, so that an address with many
// connections does not hold up the others.
//
// Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "join/service/address_limits.h"

namespace infold::join {

class HandshakePlaces {
 public:
  HandshakePlaces(std::uint32_t all_max, std::uint32_t of_address_max)
      : places_(all_max, of_address_max) {}

  // Takes a place for this connection, or lets it wait. Returns whether it has a place now.
  bool take(const std::string& address, int connection);
  // Gives back a place. Returns the connection that has it now, if one waited for it.
  std::optional<int> give_back(const std::string& address);
  // Forgets a connection that waits.
  void forget(const std::string& address, int connection);

  std::uint32_t taken() const { return places_.count(); }
  std::size_t waiting() const { return waiting_count_; }

 private:
  using Waiting = std::map<std::string, std::list<int>>;

  AddressCounts places_;
  Waiting waiting_;  // by address, which has at least one
  std::size_t waiting_count_ = 0;
  std::string last_;  // the address that got a place last
};

}  // namespace infold::join
