// SPDX-License-Identifier: Apache-2.0
//
// One all-reduce by the rules of SwitchML's workers and switch, packet by packet, in virtual time.
// It knows nothing of infold's machines. Links and the rules decide the time; processors and the
// switch take none. A pure function of its argument.
#pragma once

#include <cstdint>

#include "base/instant.h"

namespace infold::reproduce {

// Slot s carries chunks s, s + slots, s + 2 slots and so on, one after the other. A worker sends a
// slot's next chunk when it has the result of the one before, and sends a chunk again when no
// result has come for a timeout. The switch keeps a slot's last result until all workers have sent
// the next chunk, and repeats it to a worker that asks again. Chunks never change their slots.
struct SlotRules {
  std::uint32_t workers = 8;
  std::uint32_t slots = 128;
  std::uint64_t chunks = 0;
  std::uint32_t frame_bytes = 0;  // on the link, with preamble and gap
  std::int64_t bits_per_second = 10'000'000'000;
  base::Duration round_trip = base::microseconds(10);
  base::Duration timeout = base::milliseconds(1);
  double loss = 0;  // the share of packets that each link loses, in each direction
  std::uint64_t seed = 1;
};

struct SlotRulesTime {
  double done_s = 0;  // when the last worker has the last result
  std::uint64_t timeouts = 0;
};

SlotRulesTime run(const SlotRules& rules);

}  // namespace infold::reproduce
