// SPDX-License-Identifier: Apache-2.0
//
// The aggregation site of a rank that sums a share of the job's tensors. First it is a socket with
// a thread, so that it can answer other ranks' probes. Later it becomes a part of the rank's
// endpoint.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "io/endpoint.h"
#include "io/udp/udp_endpoint.h"
#include "join/registrar.h"
#include "plan/plan.h"
#include "site/switch_shard.h"

namespace infold::rank {

class OwnSite {
 public:
  // Throws std::system_error if no thread can be started.
  static base::Result<std::unique_ptr<OwnSite>> open(io::UdpOptions udp);

  io::SocketAddress address() const { return shard_->address(); }
  // The site's address in the form that the job's ranks get.
  join::SiteAddress site_address(std::uint32_t weight) const;
  // Takes the job's slots. Only the first call has an effect.
  void serve(const join::JobTerms& terms);
  // An endpoint on top of the network's endpoint, whose thread serves this site from now on. The
  // site is tree `own` of the plan, and the network's neighbour of that number. Requires: serve()
  // has been called. After this, only the destructor may be called.
  std::unique_ptr<io::Endpoint> take_endpoint(const plan::Plan& plan, std::uint8_t own,
                                              std::uint16_t rank,
                                              std::unique_ptr<io::UdpEndpoint> network);

 private:
  explicit OwnSite(io::UdpSocket socket);
  std::unique_ptr<site::SwitchShard> shard_;
  bool is_served_ = false;
};

}  // namespace infold::rank
