// SPDX-License-Identifier: Apache-2.0
//
// Examines the path from a rack's switch to its parent, as ranks examine their paths before they
// join. It takes the MTU from the host's routes, and finds out with probes whether datagrams of
// full size pass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/address/socket_address.h"
#include "join/relay/rack_relay.h"
#include "join/relay/uplink.h"
#include "keys/token/join_string.h"

namespace infold::switches {

class UdpUplink final : public join::Uplink {
 public:
  // This switch receives packets at `listen`, and its ranks join at `join_address`. Both may be the
  // unspecified address, such as 0.0.0.0.
  static base::Result<std::unique_ptr<UdpUplink>> find(const io::SocketAddress& parent,
                                                       const io::SocketAddress& listen,
                                                       const io::SocketAddress& join_address);

  // `keys` is the string to join the parent with.
  join::RackRelayOptions relay_options(const keys::JoinString& keys = {}) const;
  join::Answer<std::uint32_t> datagram_bytes_max() const override;
  join::Answer<void> reach(const std::vector<std::string>& sites,
                           std::uint32_t datagram_bytes) override;

 private:
  UdpUplink(const io::SocketAddress& parent, const io::SocketAddress& from,
            const io::SocketAddress& join_address)
      : parent_(parent), from_(from), join_address_(join_address) {}

  io::SocketAddress parent_;
  io::SocketAddress from_;          // where our packets come from, without a port
  io::SocketAddress join_address_;  // where the ranks of this rack join, as the parent would see it
};

// Returns where the rack's sums go, for each of its sites.
join::Answer<std::vector<io::SocketAddress>> sites_of_parent(const join::BelowParent& below);

}  // namespace infold::switches
