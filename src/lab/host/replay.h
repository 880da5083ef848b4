// SPDX-License-Identifier: Apache-2.0
//
// Replays the work of one rank part by part, each without the rest of a job. All figures are
// seconds of processor time for a GB of tensor. One thread calls; a replay may start a second.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "lab/host/parts.h"

namespace infold::lab {

struct Replay {
  core::ElementLayout layout;
  std::uint64_t bytes = 0;  // of the tensor
  std::uint32_t mtu = 1500;
  // Packets in a message to the kernel and from it, as a job has them on average.
  double sent_together = 1;
  double received_together = 1;
  bool apart = false;  // the other end of the sockets has a core of its own
};

// Throws std::runtime_error if loopback loses packets.
AloneTimes replay(const Replay& replay);

// Whether the rank encodes its tensor. Else the kernel reads packets' payloads from the tensor.
bool encodes(const Replay& replay);

// Bytes on the wire, headers included, divided by the tensor's.
double wire_share(const Replay& replay);

// `bytes`: of the tensor.
CopyTimes measure_copies(std::uint64_t bytes);

}  // namespace infold::lab
