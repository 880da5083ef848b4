// SPDX-License-Identifier: Apache-2.0
//
// By how much an all-reduce takes longer when links lose packets, beside what SwitchML's rules of
// retransmission cost.
#pragma once

#include <cstdint>

#include "reproduce/report.h"

namespace infold::reproduce {

// Fixed slots, each with its own chunks and a timer. Eight workers are all needed for a chunk.
struct SlotTimers {
  std::uint32_t workers = 8;
  std::uint32_t slots = 128;
  double chunks = 0;  // of the tensor
  double base_s = 0;  // time without loss
  double timer_s = 1e-3;
};

// A chunk stands still for one timer if the link loses one of its 2 x workers packets. No other
// slot takes over a slot's chunks, so the unluckiest slot ends the call. Its number of timers is
// that of the mean slot and sqrt(2 ln slots) standard deviations.
double slot_timer_inflation(const SlotTimers& timers, double loss);

struct LossOptions {
  std::uint64_t elements = 25'000'000;  // 100 MB
};

Report switchml_loss(const LossOptions& options = {});

}  // namespace infold::reproduce
