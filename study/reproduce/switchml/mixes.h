// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of SwitchML-omnetpp, in our simulator: one job compared with a closed form, two
// jobs that share links at different offsets of their submissions, 60 jobs on racks below a spine,
// and jobs that share few slots. Each runs with and without schedulers.
#pragma once

#include <cstdint>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct MixesOptions {
  double scale_alone = 100;  // for the runs of one job (study/mix/run/mix.h)
  double scale = 400;        // for the others
  std::uint32_t offsets = 4;
  std::uint32_t jobs = 60;
  std::uint32_t lists = 3;  // lists of this many jobs, drawn from seeds 1, 2, ...
};

Report switchml_mixes(const MixesOptions& options = {}, const Progress& progress = {});

}  // namespace infold::reproduce
