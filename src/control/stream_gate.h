// SPDX-License-Identifier: Apache-2.0
//
// Who may open a stream, and say Hello on it. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "control/control_event.h"
#include "control/peer_limits.h"
#include "control/registrar.h"

namespace infold::control {

struct StreamLimits {
  // A rank of one job has one: 16 jobs of 256 ranks, or 64 groups of 64.
  std::uint32_t streams_max = 4096;
  std::uint32_t streams_of_peer_max = 3072;
  // A host that starts 50 groups on 8 ranks says 400 at once.
  std::uint32_t hellos_per_second = 512;
  std::uint32_t hellos_at_once = 2048;
};

class StreamGate {
 public:
  StreamGate(const StreamLimits& limits, EventListener on_event);

  // A refusal says which limit. What it let in is given back with close().
  Answer<void> open(const std::string& peer);
  void close(const std::string& peer);
  Answer<void> hello(const std::string& peer);

 private:
  tl::unexpected<Refusal> refuse(const std::string& peer, std::string message);

  const StreamLimits limits_;
  const EventListener on_event_;
  std::mutex mutex_;
  PeerCounts streams_;
  PeerRates hellos_;
};

}  // namespace infold::control
