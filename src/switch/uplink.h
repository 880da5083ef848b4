// SPDX-License-Identifier: Apache-2.0
//
// The path from a rack's switch to its parent: its MTU by the host's routes, and whether full
// datagrams pass, by probes, as ranks do before they join.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/relay/rack_relay.h"
#include "control/relay/uplink.h"
#include "io/address/socket_address.h"

namespace infold::switches {

class UdpUplink final : public control::Uplink {
 public:
  // This switch's packets are at `listen` and its ranks join at `control`; both may be any address.
  static base::Result<std::unique_ptr<UdpUplink>> find(const io::SocketAddress& parent,
                                                       const io::SocketAddress& listen,
                                                       const io::SocketAddress& control);

  control::RackRelayOptions relay_options() const;
  control::Answer<std::uint32_t> datagram_bytes_max() const override;
  control::Answer<void> reach(const std::vector<std::string>& sites,
                              std::uint32_t datagram_bytes) override;

 private:
  UdpUplink(const io::SocketAddress& parent, const io::SocketAddress& from,
            const io::SocketAddress& control)
      : parent_(parent), from_(from), control_(control) {}

  io::SocketAddress parent_;
  io::SocketAddress from_;     // where our packets come from, without a port
  io::SocketAddress control_;  // as the parent would see it
};

// Where a rack's sums go, for each of its sites.
control::Answer<std::vector<io::SocketAddress>> sites_of_parent(const control::BelowParent& below);

}  // namespace infold::switches
