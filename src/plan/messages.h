// SPDX-License-Identifier: Apache-2.0
//
// Lists the packets of one call under a plan: sender, receiver, bytes, and the packets that must
// come before. The network loses no packet, and the job's streams are at their beginning. Pure.
//
// The list does not model what depends on values: the second round of a chunk whose exponents lie
// too far apart, sets of specials, and the blocks of zeros that a sparse sum leaves out. A sparse
// sum has at most as many packets as the list, and at most as long ones.
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
  // A message goes between an aggregator of a tree and one of its children.
  std::uint8_t tree = 0;
  std::uint16_t aggregator = 0;
  std::uint8_t child = 0;
  bool is_down = false;     // from the aggregator to the child
  bool is_small = false;    // in the small stream
  std::uint64_t chunk = 0;  // its number in the stream
  std::uint32_t elements = 0;
  // Length of the datagram; of native's PARTIAL, as it usually is.
  std::uint32_t bytes = 0;
  // Indices in the list of the messages that must come first. All are smaller than this message's.
  std::vector<std::uint32_t> after;
};

// A chunk's messages stand together, contributions before results. Requires: the plan's datagrams
// hold a block of the layout; each tree has all ranks.
std::vector<Message> messages_of(const Plan& plan, const Call& call);

}  // namespace infold::plan
