// SPDX-License-Identifier: Apache-2.0
//
// The interface of every node in the virtual network: workers, aggregators, links and faults. A
// node receives packets and the passing of time, and hands packets on. Nodes know neither each
// other nor the clock. A path names the nodes that a packet visits, and an outlet moves the packet
// along.
#pragma once

#include <cstdint>

#include "base/instant.h"
#include "study/sim/network/packet_pool.h"

namespace infold::sim {

using NodeId = std::uint16_t;
using PathId = std::uint16_t;
inline constexpr std::uint32_t kNodesMax = 65'535;
inline constexpr std::uint32_t kPathsMax = 65'535;

// A packet under way. `hop` is the index of the path's node that the packet visits next.
struct Parcel {
  PacketIndex packet = 0;
  PathId path = 0;
  std::uint8_t hop = 0;
};

// Why a packet was dropped. `queue` is the queue of a link, `receive_queue` that of a paused
// worker.
enum class DropCause : std::uint8_t { loss, burst, queue, receive_queue, checksum, count_ };
const char* drop_cause_name(DropCause cause);

// What a node can do with packets. The network implements it.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual PacketPool& packets() = 0;
  // Lets an endpoint's new packet enter its path now. Takes over one reference.
  virtual void send(PathId path, PacketIndex packet) = 0;
  // Moves a packet from node `from` to the next node of its path at time `at`. Requires: `at` is
  // not in the past.
  virtual void forward(base::Instant at, NodeId from, Parcel parcel) = 0;
  virtual void drop(Parcel parcel, DropCause cause) = 0;
};

class Node {
 public:
  virtual ~Node() = default;
  // Takes over the parcel's reference: forwards, drops or releases it.
  virtual void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) = 0;
  // Called at next_timeout() or later.
  virtual void handle_timeout(base::Instant now, Outlet& outlet) = 0;
  virtual base::Instant next_timeout() const = 0;
};

}  // namespace infold::sim
