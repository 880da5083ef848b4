// SPDX-License-Identifier: Apache-2.0
//
// One direction of a link: a queue that drops at its tail, a sender that takes time for each bit,
// and the propagation delay. The queue is not stored, because the time for which the sender is
// still busy says how much is queued.
#pragma once

#include <cstdint>

#include "study/sim/network/node.h"

namespace infold::sim {

// Bytes that each datagram usually costs besides its payload: UDP 8, IPv4 20, Ethernet 14 + 4,
// preamble and gap 20.
inline constexpr std::int64_t kFrameOverheadBytes = 66;

struct LinkOptions {
  std::int64_t bits_per_second = 0;  // 0: takes no time
  base::Duration delay;
  std::int64_t queue_bytes_max = 0;  // waiting frames, including the one being sent
  std::int64_t overhead_bytes = kFrameOverheadBytes;
};

// Returns the queue of a switch's port, as in a lab: what the link sends in 20 ms, but at least 64
// frames.
std::int64_t port_queue_bytes(double bits_per_second);

class Link final : public Node {
 public:
  Link(const LinkOptions& options, NodeId self);

  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override;
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

  // These return how long the sender is busy with the queued frames, or with `bytes` of frames.
  std::int64_t queued_ps(base::Instant now) const;
  std::int64_t sending_ps(std::int64_t bytes) const { return bytes * ps_per_byte_; }
  // Returns the same for a datagram of this many bytes.
  std::int64_t datagram_ps(std::int64_t bytes) const {
    return sending_ps(bytes + options_.overhead_bytes);
  }
  std::int64_t queued_bytes(base::Instant now) const;
  std::int64_t queued_bytes_high_water() const;
  // Returns how long the sender is busy with all frames so far, including those in the queue.
  std::int64_t busy_ps() const { return busy_ps_; }
  // Returns when no more than `bytes` will be queued.
  base::Instant drained_to(std::int64_t bytes) const;

 private:
  LinkOptions options_;
  NodeId self_;
  std::int64_t ps_per_byte_;
  std::int64_t busy_until_ps_ = 0;  // picoseconds: at 100 Gbit/s a byte takes 80
  std::int64_t queued_ps_high_water_ = 0;
  std::int64_t busy_ps_ = 0;
};

}  // namespace infold::sim
