// SPDX-License-Identifier: Apache-2.0
#include "control/service/stream_gate.h"

#include <utility>

#include <fmt/format.h>

#include "io/host/clock.h"

namespace infold::control {

StreamGate::StreamGate(const StreamLimits& limits, EventListener on_event)
    : limits_(limits),
      on_event_(std::move(on_event)),
      streams_(limits.streams_max, limits.streams_of_peer_max),
      hellos_(limits.hellos_per_second, limits.hellos_at_once),
      openings_(limits.openings_per_second, limits.openings_at_once) {}

bool StreamGate::may_connect(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  return !openings_.is_empty(peer, io::monotonic_now());
}

Answer<void> StreamGate::open(const std::string& peer) {
  PeerCounts::Taken taken = PeerCounts::Taken::yes;
  bool is_flood = false;
  {
    const std::lock_guard lock(mutex_);
    is_flood = !openings_.take_or_owe(peer, io::monotonic_now());
    if (!is_flood) taken = streams_.take(peer);
  }
  if (is_flood) {
    return refuse(peer, fmt::format("more than {} streams a second are opened from {}",
                                    limits_.openings_per_second, peer));
  }
  if (taken == PeerCounts::Taken::yes) return {};
  if (taken == PeerCounts::Taken::all_full) {
    return refuse(peer, fmt::format("{} ranks have joined here or want to, which is the limit",
                                    limits_.streams_max));
  }
  return refuse(peer,
                fmt::format("{} ranks at {} have joined here or want to, which is the limit for "
                            "one address",
                            limits_.streams_of_peer_max, peer));
}

void StreamGate::close(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  streams_.give_back(peer);
}

Answer<void> StreamGate::hello(const std::string& peer) {
  {
    const std::lock_guard lock(mutex_);
    if (hellos_.take(peer, io::monotonic_now())) return {};
  }
  return refuse(peer, fmt::format("more than {} ranks a second want to join from {}",
                                  limits_.hellos_per_second, peer));
}

tl::unexpected<Refusal> StreamGate::refuse(const std::string& peer, std::string message) {
  on_event_(event_of_peer(ControlEvent::limited, peer, message));
  return tl::unexpected<Refusal>(Refusal{RefusalReason::full, std::move(message), -1});
}

}  // namespace infold::control
