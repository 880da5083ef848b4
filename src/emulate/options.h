// SPDX-License-Identifier: Apache-2.0
//
// What an emulator emulates: ranks, their places, links, slots, values, and how late ranks are.
// Plain data.
#pragma once

#include <cstdint>

#include "emulate/lag/lag.h"
#include "emulate/placement.h"
#include "io/address/socket_address.h"
#include "sim/network/link.h"

namespace infold::emulate {

enum class Values : std::uint8_t {
  zeros,      // the cheapest: sums are those of the real ranks
  generated,  // as contribution.h has them, so every party can compute the sums
};

struct EmulationOptions {
  io::SocketAddress listen;  // packets and, over TCP, control
  // Set: a real switch sums, where real and emulated ranks join. Nothing but ranks, their sites and
  // their links is emulated then. The placement has one weight, that of each site of the switch
  // which leaves it open, and says whether ranks sum, too.
  io::SocketAddress real_switch = {};
  std::uint32_t ranks = 2;  // of each job
  std::uint32_t real = 1;   // the first ranks, which join over sockets
  Placement placement;
  // Of each rank, in each direction. Ranks of a host share the host's.
  sim::LinkOptions link;
  sim::LinkOptions rack_link;  // of each rack's switch, to the root
  double loss = 0;             // probability for each packet, in each direction of each link
  // Real ranks have links of their own, as in a lab. Otherwise theirs are emulated, too.
  bool real_have_links = false;
  std::uint32_t slots = 4096;  // of each switch
  Values values = Values::zeros;
  Lag lag;
  std::uint64_t seed = 1;
};

}  // namespace infold::emulate
