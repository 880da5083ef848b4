// SPDX-License-Identifier: Apache-2.0
//
// The scenario set of SwitchML-omnetpp, in our simulator: one job against a closed form, two jobs
// that share links against the offset of their submissions, 60 jobs on racks below a spine, and
// jobs that share few slots. Each with and without schedulers.
#pragma once

#include <cstdint>

#include "reproduce/report.h"

namespace infold::reproduce {

struct MixesOptions {
  double scale_alone = 100;  // of the runs of one job (mix/run/mix.h)
  double scale = 400;        // of the others
  std::uint32_t offsets = 4;
  std::uint32_t jobs = 60;
  std::uint32_t lists = 3;  // of so many jobs each, drawn from seeds 1, 2, ...
};

Report switchml_mixes(const MixesOptions& options = {});

}  // namespace infold::reproduce
