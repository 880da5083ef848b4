// SPDX-License-Identifier: Apache-2.0
//
// A whole switch: shards that sum, and the control plane that brings jobs to them, from ranks or,
// at a rack's switch, from its parent. Shard i of a rack is below shard i of the parent. Memory for
// slots is taken when a job starts and given back when it ends, within a budget stated up front.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/registrar.h"
#include "control/registry/plane.h"
#include "control/service/control_server.h"
#include "io/address/socket_address.h"
#include "site/switch_shard.h"
#include "switch/uplink.h"

namespace infold::switches {

struct SwitchOptions {
  io::SocketAddress listen;   // of the first shard; the others take the ports after it
  io::SocketAddress control;  // unset: the same port, over TCP
  unsigned threads = 1;
  std::uint32_t slots = 4096;  // of each shard, for all jobs together
  std::uint32_t datagram_bytes_max = 8972;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;
  bool offload = true;
  io::SocketAddress parent;  // control of the switch above this one, a rack's; unset: none
};

class SwitchServer final : public control::Plane {
 public:
  static base::Result<std::unique_ptr<SwitchServer>> start(const SwitchOptions& options);
  ~SwitchServer() override;  // tells all jobs

  io::SocketAddress control_address() const { return control_->address(); }
  control::ControlServer::Budget control_budget() const { return control_->budget(); }
  // The memory of all slots when jobs use datagrams of this size.
  struct SlotMemory {
    std::size_t bytes = 0;
    std::size_t bins_bytes = 0;  // among them: of sums of floats that two doubles do not hold
  };
  SlotMemory memory_max(std::uint32_t datagram_bytes) const;
  std::vector<site::SiteStatistics> statistics();
  std::vector<control::JobStatus> jobs() const { return registrar_->status(); }
  site::SwitchStatus status();  // from any thread; asks each shard between two batches
  bool uses_trains() const { return shards_.front()->uses_trains(); }

  std::vector<control::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t datagram_bytes_max() const override { return options_.datagram_bytes_max; }
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  explicit SwitchServer(const SwitchOptions& options);
  base::Result<void> open_sites();
  base::Result<void> listen();
  control::Answer<void> add_to_shards(const core::AggregatorOptions& aggregator,
                                      std::uint16_t small_slots,
                                      const std::vector<site::Neighbours>& shards);
  base::Result<void> make_registrar(const io::SocketAddress& control);

  SwitchOptions options_;
  std::vector<std::unique_ptr<site::SwitchShard>> shards_;
  std::unique_ptr<UdpUplink> uplink_;
  std::unique_ptr<control::Registrar> registrar_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::switches
