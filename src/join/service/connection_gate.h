// SPDX-License-Identifier: Apache-2.0
//
// Limits what connections cost, for each address and in all: their number, how fast they are
// opened, their handshakes and Hellos, the bytes that they send, and the replies that wait to be
// sent. At a switch with keys, a connection counts for its address until its token is known, and
// then for the account of the token (service/token_check.h), whose name stands in place of an
// address. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/instant.h"
#include "base/mutex.h"
#include "join/join_event.h"
#include "join/registrar.h"
#include "join/service/address_limits.h"

namespace infold::join {

struct ConnectionLimits {
  // Each rank has a connection: there is room for 4 jobs of 1024 ranks, 16 of 256 or 64 groups of
  // 64, and for as many connections again that have said nothing yet.
  std::uint32_t connections_max = 8192;
  std::uint32_t connections_of_address_max = 6144;
  // A host that starts 50 groups on 8 ranks opens 400 at once.
  std::uint32_t openings_per_second = 1024;
  std::uint32_t openings_at_once = 2304;
  std::uint32_t hellos_per_second = 512;
  std::uint32_t hellos_at_once = 2048;
  // Handshakes of TLS. An attacker can make the server compute 1,000 a second, which takes half of
  // the door's thread, but no more.
  std::uint32_t handshakes_per_second = 1000;
  std::uint32_t handshakes_at_once = 4608;
  std::uint32_t handshakes_of_address_per_second = 128;
  std::uint32_t handshakes_of_address_at_once = 2304;
  // Those that have begun and have not ended, each of which has memory of its own. Others wait.
  std::uint32_t handshakes_open_max = 256;
  std::uint32_t handshakes_open_of_address_max = 192;
  // These count what comes beyond the bytes that each connection may always send
  // (RankConversation).
  std::uint32_t bytes_per_second_of_address = 4 << 20;
  std::uint32_t bytes_at_once_of_address = 16 << 20;
  // The replies that ranks have not taken yet. A Joined for 1024 ranks with IPv6 addresses has 42
  // kB, so that is enough for all replies of two such jobs at once. Together with the connections,
  // it keeps a server below 256 MB.
  std::uint32_t reply_bytes_max = 104 << 20;
  std::uint32_t reply_bytes_of_address_max = 84 << 20;
};

class ConnectionGate {
 public:
  ConnectionGate(const ConnectionLimits& limits, EventListener on_event);

  // A refusal names the limit. close() gives back a connection that was let in.
  Answer<void> open(const std::string& address);
  void close(const std::string& address);
  // A connection that was let in counts for its token's account from now on, and for no address.
  void move(const std::string& address, const std::string& account);
  Answer<void> handshake(const std::string& address);
  Answer<void> hello(const std::string& address);

  // may_send() says whether the address may send more now, and note_sent() counts what it has sent.
  bool may_send(const std::string& address, base::Instant now);
  void note_sent(const std::string& address, std::size_t bytes, base::Instant now);

  Answer<void> hold_reply(const std::string& address, std::size_t bytes);
  void release_reply(const std::string& address, std::size_t bytes);

  const ConnectionLimits& limits() const { return limits_; }

 private:
  tl::unexpected<Refusal> refuse(const std::string& address, Refusal why);

  const ConnectionLimits limits_;
  const EventListener on_event_;
  base::Mutex mutex_;
  AddressCounts connections_ GUARDED_BY(mutex_);
  AddressCounts reply_bytes_ GUARDED_BY(mutex_);
  AddressRates openings_ GUARDED_BY(mutex_);
  AddressRates handshakes_ GUARDED_BY(mutex_);
  AddressRates all_handshakes_ GUARDED_BY(mutex_);
  AddressRates hellos_ GUARDED_BY(mutex_);
  AddressRates bytes_ GUARDED_BY(mutex_);
};

}  // namespace infold::join
