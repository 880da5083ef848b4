// SPDX-License-Identifier: Apache-2.0
//
// SwitchML's aggregated rate: the elements per second that are summed for each worker, by the
// number of workers, in packets of 64 elements at 10 Gbit/s and of 256 at 100 Gbit/s.
#pragma once

#include <cstdint>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct RateOptions {
  // The packets in each tensor of a run. More of them change the settled rate by less than 0.1 %.
  std::uint64_t packets = 31'250;
};

Report switchml_rate(const RateOptions& options = {});

}  // namespace infold::reproduce
