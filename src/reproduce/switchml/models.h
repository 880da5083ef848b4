// SPDX-License-Identifier: Apache-2.0
//
// SwitchML's end-to-end table: images a second of eight workers at 10 Gbit/s, on a switch and with
// the ring of NCCL.
#pragma once

#include <cstdint>

#include "reproduce/report.h"
#include "reproduce/switchml/layers.h"

namespace infold::reproduce {

struct ModelsOptions {
  std::uint64_t packets = 31'250;  // of the simulated tensor that gives the switch's rate
};

Report switchml_models(const ModelsOptions& options = {});

// The factor on a GPU's times with which eight workers without a network reach the ideal rate.
// Requires: the model's images a second are published.
double scale_to_ideal(const Model& model);

}  // namespace infold::reproduce
