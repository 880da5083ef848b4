// SPDX-License-Identifier: Apache-2.0
//
// Models two queues in a row: the link, then the GPU.
#include "study/reproduce/switchml/training_step.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace infold::reproduce {
namespace {

constexpr double kMicro = 1e-6;

double total_s(std::span<const Layer> layers, double Layer::* part) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.*part;
  return sum * kMicro;
}

}  // namespace

double forward_s(std::span<const Layer> layers) { return total_s(layers, &Layer::forward_us); }
double backward_s(std::span<const Layer> layers) { return total_s(layers, &Layer::backward_us); }
double compute_s(std::span<const Layer> layers) {
  return forward_s(layers) + backward_s(layers) + total_s(layers, &Layer::update_us);
}

std::vector<double> sums_done_s(std::span<const Layer> layers, double scale,
                                const Network& network) {
  CHECK_THAT(network.elements_per_second, >, 0);
  std::vector<double> done(layers.size());
  double ready = scale * forward_s(layers);
  double link_free = 0;
  for (std::size_t i = layers.size(); i-- > 0;) {
    ready += scale * layers[i].backward_us * kMicro;
    link_free = std::max(link_free, ready) +
                static_cast<double>(layers[i].elements) / network.elements_per_second;
    done[i] = link_free + network.latency_s;
  }
  return done;
}

double step_s(std::span<const Layer> layers, double scale, const Network& network) {
  const std::vector<double> done = sums_done_s(layers, scale, network);
  double gpu_free = scale * (forward_s(layers) + backward_s(layers));
  for (std::size_t i = layers.size(); i-- > 0;) {
    gpu_free = std::max(gpu_free, done[i]) + scale * layers[i].update_us * kMicro;
  }
  return gpu_free;
}

// A step is never faster on a slower network, so bisection finds the rate.
double implied_rate(std::span<const Layer> layers, double scale, double wanted_s) {
  CHECK_THAT(wanted_s, >, scale * compute_s(layers));
  double low = 1e3;
  double high = 1e12;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (step_s(layers, scale, {middle, 0}) > wanted_s ? low : high) = middle;
  }
  return high;
}

}  // namespace infold::reproduce
