// SPDX-License-Identifier: Apache-2.0
//
// The sockets of a rank alone: as many packets in as many messages as a job has, over loopback,
// without a state machine and without waiting. A second thread sends the answers. The two take
// turns, and only the rank's own system calls count.
#pragma once

#include <cstddef>

#include "lab/host/replay.h"

namespace infold::lab {

struct SocketCores {
  int rank = 0;
  int other = 0;
};

// Seconds for a GB of tensor, if its packets have that many bytes. Throws std::runtime_error if
// loopback loses packets.
double sockets_s(const Replay& replay, std::size_t datagram_bytes, SocketCores cores);

}  // namespace infold::lab
