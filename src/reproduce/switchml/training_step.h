// SPDX-License-Identifier: Apache-2.0
//
// The time of one training step whose gradients are summed while the backward pass goes on. The
// last layer's gradient is ready first. Sums go over the link one after another, in that order. An
// update waits for its sum and for the GPU. A closed model: a test compares it with the simulator.
#pragma once

#include <span>
#include <vector>

#include "mix/program/layers.h"

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
// One worker alone: forward, backward and updates.
double compute_s(std::span<const Layer> layers);

// When each layer's sum is done, from the start of the forward pass. `scale` multiplies the GPU's
// times.
std::vector<double> sums_done_s(std::span<const Layer> layers, double scale,
                                const Network& network);
double step_s(std::span<const Layer> layers, double scale, const Network& network);

// The rate of the network with which a step takes this long. Requires: it is longer than
// scale x compute_s(layers).
double implied_rate(std::span<const Layer> layers, double scale, double step_s);

}  // namespace infold::reproduce
