// SPDX-License-Identifier: Apache-2.0
//
// Runs all-reduces on a switch with a link for each worker, in virtual time. It uses the product's
// workers and aggregators, with packets of a given size. Links and the protocol determine the time,
// because processors take none. A pure function of its argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"

namespace infold::reproduce {

struct SwitchSum {
  std::uint16_t workers = 8;
  std::uint32_t packet_elements = 64;
  std::int64_t bits_per_second = 10'000'000'000;
  base::Duration round_trip = base::microseconds(10);
  std::uint16_t slots = 512;           // chunks in flight at each worker
  std::uint64_t elements = 0;          // in each tensor, f32 as bfp32
  std::uint32_t frame_bytes_less = 0;  // how much shorter frames are than infold's
  bool only_adds = false;  // the switch is a pipeline that only adds, and elements are i32
  std::uint32_t tensors = 1;
  double loss = 0;  // for each packet, on each link and direction
  std::uint64_t seed = 1;
  // Submits tensor i this long after tensor i - 1; empty: all at once. Tensor i has sizes[i]
  // elements, if there are sizes.
  std::vector<base::Duration> gaps;
  std::vector<std::uint64_t> sizes;
};

struct SwitchSumTimes {
  std::vector<double> done_s;  // when the last worker had each tensor
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t retransmits = 0;
  std::vector<std::string> wrong;
};

SwitchSumTimes run(const SwitchSum& sum);

}  // namespace infold::reproduce
