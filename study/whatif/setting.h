// SPDX-License-Identifier: Apache-2.0
//
// The network and the place of sums that a prediction is for. Plain data.
#pragma once

#include <cstdint>
#include <optional>

#include <infold/options.h>

#include "base/instant.h"
#include "study/predict/link_bytes.h"
#include "study/sim/network/link.h"

namespace infold::whatif {

// Where sums are made.
enum class Place : std::uint8_t {
  nowhere,  // calls end when all ranks have made them, so no network is faster
  ring,     // at the ranks, one part each; parts go round over TCP, as in Gloo
  in_path,  // at a switch, with a link for each rank
  racks,    // at a switch for each rack, and at one above them
  hosts,    // at hosts with one link each, each for a share of the chunks
  workers,  // at the ranks, each for a share of the chunks
};

// What determines when packets arrive.
enum class Model : std::uint8_t {
  packets,  // the simulator, with queues, losses and the product's machines
  formula,  // the bytes divided by the rate, and the round trip
};

struct Setting {
  std::uint16_t ranks = 2;
  Place place = Place::in_path;
  std::uint16_t parts = 1;  // number of racks or hosts
  Model model = Model::packets;
  double bits_per_second = 0;  // the rate of each rank's link, in each direction; 0: no limit
  // The rate of each rack's link, in each direction; 0: no limit; unset: the same as each rank's.
  std::optional<double> rack_bits_per_second;
  base::Duration round_trip;   // from a rank's host to another one's and back
  double loss = 0;             // probability for each packet, on each link and direction
  std::uint32_t slots = 4096;  // slots of each switch or host
  WireFormat wire = WireFormat::automatic;
  predict::Framing framing;
  std::uint64_t seed = 1;  // for losses
};

// Whether nobody has compared such a prediction with measured steps. bench/traces/whatif.py does so
// for a switch. A call that takes no time is a bound and needs no comparison.
inline bool is_unchecked(const Setting& setting) {
  if (setting.place == Place::nowhere) return false;
  return setting.place != Place::in_path || setting.model != Model::packets;
}

}  // namespace infold::whatif
