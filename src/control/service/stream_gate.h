// SPDX-License-Identifier: Apache-2.0
//
// Limits on connections, streams and Hellos, for each peer and in all. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "control/control_event.h"
#include "control/registrar.h"
#include "control/service/peer_limits.h"

namespace infold::control {

struct StreamLimits {
  // A rank of one job has one: 4 jobs of 1024 ranks, 16 of 256, or 64 groups of 64.
  std::uint32_t streams_max = 4096;
  std::uint32_t streams_of_peer_max = 3072;
  // A host that starts 50 groups on 8 ranks says 400 at once.
  std::uint32_t hellos_per_second = 512;
  std::uint32_t hellos_at_once = 2048;
  // Every rank opens one, also those that are refused or give up before their Hello.
  std::uint32_t openings_per_second = 1024;
  std::uint32_t openings_at_once = 2304;
};

class StreamGate {
 public:
  StreamGate(const StreamLimits& limits, EventListener on_event);

  // False for a peer that has opened more streams than its rate allows, until time makes up for it.
  // Its connections are closed meanwhile, because to refuse a stream costs as much as to take it.
  bool may_connect(const std::string& peer);
  // A refusal names the limit. close() gives back a stream that was let in.
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
  PeerRates openings_;
};

}  // namespace infold::control
