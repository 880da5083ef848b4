// SPDX-License-Identifier: Apache-2.0
//
// How much later than rank 0 an emulated rank makes each transfer, because its own computation
// takes longer. A pure function of seed, rank and transfer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/instant.h"
#include "base/prng.h"
#include "study/emulate/lag/lag_table.h"

namespace infold::emulate {

struct Lag {
  // The mean of an exponential distribution, which is drawn for each rank and transfer. 0: none.
  base::Duration mean;
  std::map<std::uint16_t, base::Duration> always = {};  // added for these ranks at each transfer
  LagTable table = {};                                  // added as well; for all ranks of a job

  // Transfers are counted from 1.
  base::Duration of(std::uint64_t seed, std::uint16_t rank, std::uint64_t transfer) const {
    base::Duration lag = table.of(rank, transfer);
    if (mean.ns > 0) {
      base::Prng prng(base::mix64(seed ^ base::mix64(transfer ^ base::mix64(rank))));
      const double share = -std::log(std::max(1 - prng.uniform(), 1e-12));
      lag.ns += static_cast<std::int64_t>(static_cast<double>(mean.ns) * share);
    }
    const auto own = always.find(rank);
    return own == always.end() ? lag : lag + own->second;
  }
};

}  // namespace infold::emulate
