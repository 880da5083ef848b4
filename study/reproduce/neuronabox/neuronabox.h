// SPDX-License-Identifier: Apache-2.0
//
// Reproduces NeuronaBox's fidelity. It compares the time of a training step at a few real ranks
// beside emulated ones with the step of a job whose ranks are all real.
#pragma once

#include <cstdint>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct FidelityOptions {
  std::uint16_t ranks = 8;
  std::uint16_t real = 2;
  std::uint32_t steps = 5;
  // Scales the models' gradients and times. Less of both gives the same shares of a step.
  double scale = 0.1;
};

Report neuronabox(const FidelityOptions& options = {});

}  // namespace infold::reproduce
