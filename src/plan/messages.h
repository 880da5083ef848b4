// SPDX-License-Identifier: Apache-2.0
//
// The packets that one call needs under a plan: between whom, how long, and after which others.
// They are those of a network that loses nothing, with the job's streams at their beginning. Pure.
//
// Left out is what depends on values: the second round of a chunk whose exponents lay too far
// apart, sets of specials, and the blocks of zeros that a sparse sum leaves out. With the last,
// packets are at most as many and as long as said here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/format.h"
#include "core/worker/worker.h"
#include "plan/plan.h"

namespace infold::plan {

struct Call {
  core::Collective collective = core::Collective::all_reduce;
  core::ElementLayout layout;
  std::uint64_t elements = 0;  // 0 for a barrier
  std::uint16_t root = 0;
  core::Priority priority = core::Priority::automatic;
};

struct Message {
  // Between an aggregator of a tree and one of its children.
  std::uint8_t tree = 0;
  std::uint16_t aggregator = 0;
  std::uint8_t child = 0;
  bool is_down = false;     // from the aggregator to the child
  bool is_small = false;    // in the small stream
  std::uint64_t chunk = 0;  // of the stream
  std::uint32_t elements = 0;
  std::uint32_t bytes = 0;  // of the datagram
  // Places in the list, all of them earlier ones.
  std::vector<std::uint32_t> after;
};

// A chunk's messages stand together, contributions before results. Requires: the plan's datagrams
// hold a block of the layout; each tree has all ranks.
std::vector<Message> messages_of(const Plan& plan, const Call& call);

}  // namespace infold::plan
