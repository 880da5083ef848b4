// SPDX-License-Identifier: Apache-2.0
#include "join/service/connection_gate.h"

#include <utility>

#include <fmt/format.h>

#include "io/host/clock.h"
#include "join/refusals.h"

namespace infold::join {

using namespace sentences;

ConnectionGate::ConnectionGate(const ConnectionLimits& limits, EventListener on_event)
    : limits_(limits),
      on_event_(std::move(on_event)),
      connections_(limits.connections_max, limits.connections_of_address_max),
      reply_bytes_(limits.reply_bytes_max, limits.reply_bytes_of_address_max),
      openings_(limits.openings_per_second, limits.openings_at_once),
      handshakes_(limits.handshakes_of_address_per_second, limits.handshakes_of_address_at_once),
      all_handshakes_(limits.handshakes_per_second, limits.handshakes_at_once),
      hellos_(limits.hellos_per_second, limits.hellos_at_once),
      bytes_(limits.bytes_per_second_of_address, limits.bytes_at_once_of_address) {}

Answer<void> ConnectionGate::open(const std::string& address) {
  AddressCounts::Taken taken = AddressCounts::Taken::yes;
  bool is_flood = false;
  {
    const base::MutexLock lock(mutex_);
    is_flood = !openings_.take(address, io::monotonic_now());
    if (!is_flood) taken = connections_.take(address);
  }
  if (is_flood) {
    return refuse(address, refusal(kOpenings, limits_.openings_per_second, address));
  }
  if (taken == AddressCounts::Taken::yes) return {};
  if (taken == AddressCounts::Taken::all_full) {
    return refuse(address, refusal(kConnections, limits_.connections_max));
  }
  return refuse(address,
                refusal(kConnectionsOfAddress, limits_.connections_of_address_max, address));
}

void ConnectionGate::close(const std::string& address) {
  const base::MutexLock lock(mutex_);
  connections_.give_back(address);
}

void ConnectionGate::move(const std::string& address, const std::string& account) {
  const base::MutexLock lock(mutex_);
  connections_.move(address, account);
}

// An address that is refused takes nothing of what all addresses have together.
Answer<void> ConnectionGate::handshake(const std::string& address) {
  bool is_of_address = false;
  {
    const base::MutexLock lock(mutex_);
    const base::Instant now = io::monotonic_now();
    is_of_address = !handshakes_.take(address, now);
    if (!is_of_address && all_handshakes_.take("", now)) return {};
  }
  if (!is_of_address) {
    return refuse("", refusal(kHandshakes, limits_.handshakes_per_second));
  }
  return refuse(address,
                refusal(kHandshakesOfAddress, limits_.handshakes_of_address_per_second, address));
}

Answer<void> ConnectionGate::hello(const std::string& address) {
  {
    const base::MutexLock lock(mutex_);
    if (hellos_.take(address, io::monotonic_now())) return {};
  }
  return refuse(address, refusal(kHellos, limits_.hellos_per_second, address));
}

bool ConnectionGate::may_send(const std::string& address, base::Instant now) {
  const base::MutexLock lock(mutex_);
  return !bytes_.is_empty(address, now);
}

void ConnectionGate::note_sent(const std::string& address, std::size_t bytes, base::Instant now) {
  bool is_within = true;
  {
    const base::MutexLock lock(mutex_);
    is_within = bytes_.take_or_owe(address, now, static_cast<double>(bytes));
  }
  if (is_within) return;
  on_event_(event_of_address(JoinEvent::limited, address,
                             fmt::format("more than {} KiB a second come from the address",
                                         limits_.bytes_per_second_of_address >> 10)));
}

Answer<void> ConnectionGate::hold_reply(const std::string& address, std::size_t bytes) {
  {
    const base::MutexLock lock(mutex_);
    if (reply_bytes_.take(address, static_cast<std::uint32_t>(bytes)) ==
        AddressCounts::Taken::yes) {
      return {};
    }
  }
  return refuse(address, refusal(kReplies));
}

void ConnectionGate::release_reply(const std::string& address, std::size_t bytes) {
  const base::MutexLock lock(mutex_);
  reply_bytes_.give_back(address, static_cast<std::uint32_t>(bytes));
}

tl::unexpected<Refusal> ConnectionGate::refuse(const std::string& address, Refusal why) {
  on_event_(event_of_address(JoinEvent::limited, address, why.message));
  return tl::unexpected<Refusal>(std::move(why));
}

}  // namespace infold::join
