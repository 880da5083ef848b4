// SPDX-License-Identifier: Apache-2.0
//
// One thread of a switch, which serves an aggregation site. Shards share nothing on the packet
// path, and a job sees each shard as a site of its own.
#pragma once

#include <memory>
#include <optional>

#include "site/aggregation_site.h"
#include "site/serve_loop.h"

namespace infold::site {

class SwitchShard {
 public:
  // Throws std::system_error if the system cannot start a thread.
  explicit SwitchShard(io::UdpSocket socket);
  ~SwitchShard();  // ends every job unless take_site() was called

  // Any thread may call the following functions, which have taken effect when they return.

  // Slots below `small_slots` are for small tensors, whose ranks wait for every answer. If another
  // job has the number, changes nothing and returns false.
  [[nodiscard]] bool add_job(const core::AggregatorOptions& options, std::uint16_t small_slots,
                             const Neighbours& neighbours = {});
  // Tells the job's workers that the job has ended. The aggregator stays and repeats that answer
  // until the job is removed.
  void end_job(std::uint16_t job, const core::Abort& abort);
  // Returns how the job has ended here, once it has.
  std::optional<core::Abort> end_of(std::uint16_t job);
  void remove_job(std::uint16_t job);
  SiteStatistics statistics();

  // Ends the thread and hands the site with its jobs to the caller. Afterwards, only the destructor
  // may be called.
  std::unique_ptr<AggregationSite> take_site();

  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return uses_trains_; }

 private:
  std::unique_ptr<AggregationSite> site_;  // used by the loop's thread
  io::SocketAddress address_;
  bool uses_trains_ = false;
  ServeLoop loop_;
};

}  // namespace infold::site
