// SPDX-License-Identifier: Apache-2.0
#include "join/service/stream_gate.h"

#include <utility>

#include <fmt/format.h>

#include "io/host/clock.h"

namespace infold::join {

StreamGate::StreamGate(const StreamLimits& limits, EventListener on_event)
    : limits_(limits),
      on_event_(std::move(on_event)),
      streams_(limits.streams_max, limits.streams_of_address_max),
      hellos_(limits.hellos_per_second, limits.hellos_at_once),
      openings_(limits.openings_per_second, limits.openings_at_once) {}

bool StreamGate::may_connect(const std::string& address) {
  const base::MutexLock lock(mutex_);
  return !openings_.is_empty(address, io::monotonic_now());
}

Answer<void> StreamGate::open(const std::string& address) {
  AddressCounts::Taken taken = AddressCounts::Taken::yes;
  bool is_flood = false;
  {
    const base::MutexLock lock(mutex_);
    is_flood = !openings_.take_or_owe(address, io::monotonic_now());
    if (!is_flood) taken = streams_.take(address);
  }
  if (is_flood) {
    return refuse(address, fmt::format("more than {} streams a second are opened from {}",
                                       limits_.openings_per_second, address));
  }
  if (taken == AddressCounts::Taken::yes) return {};
  if (taken == AddressCounts::Taken::all_full) {
    return refuse(address, fmt::format("{} ranks have joined here or want to, which is the limit",
                                       limits_.streams_max));
  }
  return refuse(address,
                fmt::format("{} ranks at {} have joined here or want to, which is the limit for "
                            "one address",
                            limits_.streams_of_address_max, address));
}

void StreamGate::close(const std::string& address) {
  const base::MutexLock lock(mutex_);
  streams_.give_back(address);
}

Answer<void> StreamGate::hello(const std::string& address) {
  {
    const base::MutexLock lock(mutex_);
    if (hellos_.take(address, io::monotonic_now())) return {};
  }
  return refuse(address, fmt::format("more than {} ranks a second want to join from {}",
                                     limits_.hellos_per_second, address));
}

tl::unexpected<Refusal> StreamGate::refuse(const std::string& address, std::string message) {
  on_event_(event_of_address(JoinEvent::limited, address, message));
  return tl::unexpected<Refusal>(Refusal{RefusalReason::full, std::move(message), -1});
}

}  // namespace infold::join
