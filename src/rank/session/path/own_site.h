// SPDX-License-Identifier: Apache-2.0
//
// The aggregation site of a rank that sums a share of the job's tensors: first a socket with a
// thread, so that other ranks' probes are answered, and then a part of the rank's own endpoint.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "control/registrar.h"
#include "io/endpoint.h"
#include "io/udp/udp_endpoint.h"
#include "plan/plan.h"
#include "site/switch_shard.h"

namespace infold::rank {

class OwnSite {
 public:
  // Throws std::system_error without a thread.
  static base::Result<std::unique_ptr<OwnSite>> open(io::UdpOptions udp);

  io::SocketAddress address() const { return shard_->address(); }
  // As the job's ranks are to know it.
  control::SiteAddress site_address(std::uint32_t weight) const;
  // Takes the job's slots. Once; later calls do nothing.
  void serve(const control::JobTerms& terms);
  // An endpoint over the network's, whose thread serves this site from now on. It is tree `own`
  // of the plan and the network's peer of that number. Requires: serve(). Only this object's
  // destructor may follow.
  std::unique_ptr<io::Endpoint> take_endpoint(const plan::Plan& plan, std::uint8_t own,
                                              std::uint16_t rank,
                                              std::unique_ptr<io::UdpEndpoint> network);

 private:
  explicit OwnSite(io::UdpSocket socket);
  std::unique_ptr<site::SwitchShard> shard_;
  bool is_served_ = false;
};

}  // namespace infold::rank
