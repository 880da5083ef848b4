// SPDX-License-Identifier: Apache-2.0
//
// How much later than rank 0 an emulated rank makes each call: its own computation takes longer. A
// pure function of seed, rank and call.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/instant.h"
#include "base/prng.h"

namespace infold::emulate {

struct Lag {
  base::Duration mean;  // of an exponential distribution, drawn for each rank and call; 0: none
  std::map<std::uint16_t, base::Duration> always = {};  // added for these ranks, at each call

  base::Duration of(std::uint64_t seed, std::uint16_t rank, std::uint64_t call) const {
    base::Duration lag;
    if (mean.ns > 0) {
      base::Prng prng(base::mix64(seed ^ base::mix64(call ^ base::mix64(rank))));
      const double share = -std::log(std::max(1 - prng.uniform(), 1e-12));
      lag.ns = static_cast<std::int64_t>(static_cast<double>(mean.ns) * share);
    }
    const auto own = always.find(rank);
    return own == always.end() ? lag : lag + own->second;
  }
};

}  // namespace infold::emulate
