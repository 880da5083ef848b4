// SPDX-License-Identifier: Apache-2.0
//
// The sockets of a rank alone: as many packets in as many messages as a job has, over loopback,
// without a state machine and without waiting. A second thread sends the answers. The two take
// turns, and only the rank's own system calls count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/host/replay.h"

namespace infold::lab {

struct SocketReplay {
  std::size_t datagram_bytes = 0;
  int rank_core = 0;
  int other_core = 0;
  // The rank's packets have their payloads in a tensor of that many bytes. 0: all is in trains.
  std::uint64_t payload_bytes = 0;
};

// Seconds for a GB of tensor. Throws std::runtime_error if loopback loses packets.
double sockets_s(const Replay& replay, const SocketReplay& sockets);

}  // namespace infold::lab
