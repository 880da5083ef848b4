// SPDX-License-Identifier: Apache-2.0
//
// SwitchML's end-to-end table: images per second of eight workers at 10 Gbit/s, on a switch and
// with the ring of NCCL.
#pragma once

#include <cstdint>

#include "study/mix/program/layers.h"
#include "study/reproduce/report.h"

namespace infold::reproduce {

// Images per second of eight workers. `ideal` is eight times one worker alone.
struct PublishedImages {
  double nccl = 0;
  double switchml = 0;
  double ideal = 0;
};
// Returns null if the model's images per second are not published.
const PublishedImages* published_images(const mix::Model& model);

struct ModelsOptions {
  std::uint64_t packets = 31'250;  // in the simulated tensor that gives the switch's rate
};

Report switchml_models(const ModelsOptions& options = {});

// Returns the factor on a GPU's times with which eight workers without a network reach the ideal
// rate. Requires: the model's images per second are published.
double scale_to_ideal(const mix::Model& model);

}  // namespace infold::reproduce
