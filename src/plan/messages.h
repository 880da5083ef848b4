// SPDX-License-Identifier: Apache-2.0
//
// Lists the packets of one call under a plan: sender, receiver, length, and the packets that must
// come first. It assumes that the network loses no packet and that the job's streams are at their
// beginning. This is a pure function.
//
// The list leaves out whatever depends on values: the second round of a chunk whose exponents lie
// too far apart, sets of specials, and the blocks of zeros that a sparse sum omits. A sparse sum
// needs at most as many packets as the list has, and none of them is longer.
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
  // A message travels between an aggregator of a tree and one of its children.
  std::uint8_t tree = 0;
  std::uint16_t aggregator = 0;
  std::uint8_t child = 0;
  bool is_down = false;     // from the aggregator to the child
  bool is_small = false;    // in the small stream
  std::uint64_t chunk = 0;  // its number in the stream
  std::uint32_t elements = 0;
  // The datagram's length. For a PARTIAL of native floats, it is the usual length.
  std::uint32_t bytes = 0;
  // List indices of the messages that must come first, all smaller than this message's own index.
  std::vector<std::uint32_t> after;
};

// The messages of a chunk stand together, contributions before results. Requires: a datagram of the
// plan can hold a block of the layout; each tree has all ranks.
std::vector<Message> messages_of(const Plan& plan, const Call& call);

}  // namespace infold::plan
