// SPDX-License-Identifier: Apache-2.0
//
// Replays the work of one rank part by part, each without the rest of a job. All figures are
// seconds of processor time for a GB of tensor. Called by one thread; a replay may start a second
// one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "study/measure/host/parts.h"

namespace infold::measure {

struct Replay {
  core::ElementLayout layout;
  std::uint64_t bytes = 0;  // the tensor's size
  std::uint32_t mtu = 1500;
  // The average number of packets in one message to the kernel, and in one from it, as in a job.
  double sent_together = 1;
  double received_together = 1;
  bool apart = false;  // the other end of the sockets runs on its own core
};

// Throws std::runtime_error if loopback loses packets.
AloneTimes replay(const Replay& replay);

// Returns whether the rank encodes its tensor. If not, the kernel reads payloads from the tensor.
bool encodes(const Replay& replay);

// Returns the bytes on the wire, including headers, divided by the tensor's.
double wire_share(const Replay& replay);

// `bytes` is the tensor's size.
CopyTimes measure_copies(std::uint64_t bytes);

}  // namespace infold::measure
