// SPDX-License-Identifier: Apache-2.0
//
// One thread of a switch: serves an aggregation site. Nothing on the packet path is shared with
// other shards; to a job each shard is a site of its own.
#pragma once

#include <memory>

#include "site/aggregation_site.h"
#include "site/serve_loop.h"

namespace infold::site {

class SwitchShard {
 public:
  // Throws std::system_error without a thread.
  explicit SwitchShard(io::UdpSocket socket);
  ~SwitchShard();  // tells every job that this aggregator has stopped, unless its site was taken

  // All of these are for any thread, and have taken effect when they return.
  // Slots below `small_slots` are for small tensors, whose ranks wait for every answer.
  // False where the number is another job's, which stays as it is.
  [[nodiscard]] bool add_job(const core::AggregatorOptions& options, std::uint16_t small_slots,
                             const Neighbours& neighbours = {});
  // Tells the job's workers. Its aggregator stays, to repeat the answer, until it is removed.
  void end_job(std::uint16_t job, const core::Abort& abort);
  void remove_job(std::uint16_t job);
  SiteStatistics statistics();

  // Ends the thread and leaves the site to the caller, jobs and all. Nothing but the destructor may
  // be called after that.
  std::unique_ptr<AggregationSite> take_site();

  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return uses_trains_; }

 private:
  std::unique_ptr<AggregationSite> site_;  // the loop's, while there is one
  io::SocketAddress address_;
  bool uses_trains_ = false;
  ServeLoop loop_;
};

}  // namespace infold::site
