// SPDX-License-Identifier: Apache-2.0
//
// How much longer an all-reduce takes when links lose packets: infold beside a simulation of
// SwitchML's rules, at equal numbers of slots.
#pragma once

#include <cstdint>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct LossOptions {
  std::uint64_t elements = 25'000'000;  // 100 MB
};

Report switchml_loss(const LossOptions& options = {}, const Progress& progress = {});

}  // namespace infold::reproduce
