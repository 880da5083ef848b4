// SPDX-License-Identifier: Apache-2.0
//
// Measures the sockets of a rank alone. It moves as many packets in as many messages as a job does,
// over loopback, without a state machine and without waiting. A second thread sends the answers.
// The two take turns, and only the rank's own system calls count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "study/measure/host/replay.h"

namespace infold::measure {

struct SocketReplay {
  std::size_t datagram_bytes = 0;
  int rank_core = 0;
  int other_core = 0;
  // The rank's packets take their payloads from a tensor of this size. 0: trains hold whole
  // packets.
  std::uint64_t payload_bytes = 0;
};

// Returns the seconds for a GB of tensor. Throws std::runtime_error if loopback loses packets.
double sockets_s(const Replay& replay, const SocketReplay& sockets);

}  // namespace infold::measure
