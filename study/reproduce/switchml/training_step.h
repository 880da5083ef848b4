// SPDX-License-Identifier: Apache-2.0
//
// The time of one training step whose gradients are summed while the backward pass continues. The
// last layer's gradient is ready first. Sums go over the link one after another, in that order. An
// update waits for its sum and for the GPU. This is a closed model, and a test compares it with the
// simulator.
#pragma once

#include <span>
#include <vector>

#include "study/mix/program/layers.h"

namespace infold::reproduce {

using mix::Layer;
using mix::Model;
using mix::models;

struct Network {
  double elements_per_second = 0;
  double latency_s = 0;  // from the last packet of a sum to its result
};

double forward_s(std::span<const Layer> layers);
double backward_s(std::span<const Layer> layers);
// The time of one worker alone: forward, backward and updates.
double compute_s(std::span<const Layer> layers);

// Returns when each layer's sum is done, counted from the start of the forward pass. `scale`
// multiplies the GPU's times.
std::vector<double> sums_done_s(std::span<const Layer> layers, double scale,
                                const Network& network);
double step_s(std::span<const Layer> layers, double scale, const Network& network);

// Returns the network's rate at which a step takes this long. Requires: it is longer than scale x
// compute_s(layers).
double implied_rate(std::span<const Layer> layers, double scale, double step_s);

}  // namespace infold::reproduce
