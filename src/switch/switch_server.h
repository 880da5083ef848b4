// SPDX-License-Identifier: Apache-2.0
//
// A whole switch in user space: the shards that sum, and the join server that sets up jobs at the
// shards. The jobs come from ranks, or from the parent if this is a rack's switch. Shard i of a
// rack is below site i of the parent. Memory for slots is taken when a job starts and given back
// when it ends, within a budget that is known from the start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/address/socket_address.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/service/join_server.h"
#include "keys/token/join_string.h"
#include "site/switch_shard.h"
#include "switch/uplink.h"

namespace infold::switches {

struct SwitchOptions {
  io::SocketAddress listen;        // the first shard's address; the others use the ports after it
  io::SocketAddress join_address;  // unset: the first shard's address and port, over TCP
  unsigned threads = 1;
  std::uint32_t slots = 4096;  // in each shard, for all jobs together
  std::uint32_t datagram_bytes_max = 8972;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;
  bool offload = true;
  io::SocketAddress parent;  // the parent's join address, if this is a rack's switch; unset: none
  keys::JoinString parent_keys = {};  // the string to join the parent with
  join::ServerOptions joining = {};   // how ranks join
};

class SwitchServer final : public join::Plane {
 public:
  static base::Result<std::unique_ptr<SwitchServer>> start(const SwitchOptions& options);
  ~SwitchServer() override;  // ends all jobs and tells their ranks

  io::SocketAddress join_address() const { return join_server_->address(); }
  join::JoinServer::Budget join_budget() const { return join_server_->budget(); }
  // The memory of all slots when jobs use datagrams of this size.
  struct SlotMemory {
    std::size_t bytes = 0;
    std::size_t bins_bytes = 0;  // the part for sums of floats that two doubles cannot hold
  };
  SlotMemory memory_max(std::uint32_t datagram_bytes) const;
  std::vector<site::SiteStatistics> statistics();
  std::vector<status::JobMetrics> jobs() const { return registrar_->status(); }
  status::SwitchMetrics metrics();  // from any thread; asks each shard between two batches
  bool uses_trains() const { return shards_.front()->uses_trains(); }

  std::vector<join::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t datagram_bytes_max() const override { return options_.datagram_bytes_max; }
  join::Answer<void> start_job(const join::JobTerms& terms) override;
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  explicit SwitchServer(const SwitchOptions& options);
  base::Result<void> open_sites();
  base::Result<void> listen();
  join::Answer<void> add_to_shards(const core::AggregatorOptions& aggregator,
                                   std::uint16_t small_slots,
                                   const std::vector<site::Neighbours>& shards);
  base::Result<void> make_registrar(const io::SocketAddress& join_address);

  SwitchOptions options_;
  std::vector<std::unique_ptr<site::SwitchShard>> shards_;
  std::unique_ptr<UdpUplink> uplink_;
  std::unique_ptr<join::Registrar> registrar_;
  std::unique_ptr<join::JoinServer> join_server_;
};

}  // namespace infold::switches
