// SPDX-License-Identifier: Apache-2.0
//
// What an emulator emulates: ranks, their places, links, slots, values, and how late ranks are.
// Plain data.
#pragma once

#include <cstdint>

#include "io/address/socket_address.h"
#include "study/emulate/job_shape.h"
#include "study/emulate/lag/lag.h"
#include "study/sim/network/link.h"

namespace infold::emulate {

enum class Values : std::uint8_t {
  zeros,      // cheapest: the sums contain only the real ranks' values
  generated,  // contribution.h generates them, so that every party can compute the sums
};

struct EmulationOptions {
  io::SocketAddress listen;  // for packets, and for joining over TCP
  // If set, a real switch sums, and real and emulated ranks join there. The emulator then emulates
  // only ranks, their sites and their links. The shape has a single weight, for each site of the
  // switch that leaves it open, and says whether ranks sum as well.
  io::SocketAddress real_switch = {};
  std::uint32_t ranks = 2;  // in each job
  std::uint32_t real = 1;   // the number of real ranks, which come first and join over sockets
  JobShape shape;
  // The link of each rank, in each direction. Ranks of a host share the host's link.
  sim::LinkOptions link;
  sim::LinkOptions rack_link;  // from each rack's switch to the root
  double loss = 0;             // probability for each packet, in each direction of each link
  // Real ranks have links of their own, as in a lab. Otherwise their links are emulated as well.
  bool real_have_links = false;
  std::uint32_t slots = 4096;  // slots of each switch
  Values values = Values::zeros;
  Lag lag;
  std::uint64_t seed = 1;
};

}  // namespace infold::emulate
