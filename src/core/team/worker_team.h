// SPDX-License-Identifier: Apache-2.0
//
// The workers of a rank on one thread, which the simulator and the exhaustive search use like one
// worker. Ranks with sockets run each of their workers on its own thread
// (rank/drivers/in_flight.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/team/joint_transfers.h"
#include "core/worker/worker.h"

namespace infold::core {

class WorkerTeam {
 public:
  // Makes a worker for each share of the sites. Requires: each site is in exactly one share.
  WorkerTeam(const WorkerOptions& options, std::span<const SiteSet> shares);

  // These functions do what the functions of Worker with these names do.
  base::Result<TransferId> submit(base::Instant now, const TransferRequest& request);
  void set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present = nullptr);
  void cancel(base::Instant now);
  void leave(base::Instant now);
  void handle_datagram(base::Instant now, std::uint8_t site, std::span<const std::byte> datagram);
  void handle(base::Instant now, std::uint8_t site, const Packet& packet);
  void handle_timeout(base::Instant now);
  std::optional<Worker::Transmit> poll_transmit(base::Instant now, std::span<std::byte> out);
  std::optional<base::Instant> poll_timeout() const;
  std::optional<Event> poll_event();
  WorkerCounters counters() const;
  std::uint32_t in_flight() const;
  std::size_t memory_bytes() const;
  std::uint64_t digest() const;

 private:
  Worker& worker_of(std::uint8_t site);
  void spread_end(base::Instant now);

  std::vector<Worker> workers_;
  std::vector<SiteSet> shares_;
  std::optional<JointTransfers> joint_;  // only if there are several workers
  std::size_t next_ = 0;                 // the worker whose turn it is to send first
  bool is_over_ = false;
};

}  // namespace infold::core
