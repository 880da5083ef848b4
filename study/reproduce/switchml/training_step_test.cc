// SPDX-License-Identifier: Apache-2.0
//
// Compares the closed model of a step with times computed by hand, and with the simulator.
#include "study/reproduce/switchml/training_step.h"

#include <gtest/gtest.h>

#include "study/reproduce/packet_bound.h"
#include "study/reproduce/switch_sum.h"

namespace infold::reproduce {
namespace {

// Two layers: forward 1 + 2 ms, backward 4 + 3 ms, updates 0.5 and 0.25 ms.
constexpr Layer kTwo[] = {{1'000'000, 1'000, 4'000, 500}, {2'000'000, 2'000, 3'000, 250}};

// At 1 G elements/s the last layer's gradient is ready at 6 ms and summed at 8 ms; the first
// layer's is ready at 10 and summed at 11. The update of the last layer ends at 10.25, and the
// first layer's at 11.5.
TEST(TrainingStep, SumsHideBehindTheBackwardPass) {
  const std::vector<double> done = sums_done_s(kTwo, 1, {1e9, 0});
  EXPECT_NEAR(done[1], 8e-3, 1e-12);
  EXPECT_NEAR(done[0], 11e-3, 1e-12);
  EXPECT_NEAR(step_s(kTwo, 1, {1e9, 0}), 11.5e-3, 1e-12);
}

// At 0.1 G elements/s the sums take 20 and 10 ms. They are ready at 6, done at 26 and 36, and the
// last update follows.
TEST(TrainingStep, ASlowLinkDecides) {
  EXPECT_NEAR(step_s(kTwo, 1, {1e8, 0}), 36.5e-3, 1e-12);
  EXPECT_NEAR(step_s(kTwo, 1, {1e8, 1e-3}), 37.5e-3, 1e-12);
  // If the GPU takes twice as long, the gradient is ready at 12 ms, and the update takes 1 ms.
  EXPECT_NEAR(step_s(kTwo, 2, {1e8, 0}), 43e-3, 1e-12);
}

TEST(TrainingStep, WithoutANetworkItIsTheGpusTime) {
  EXPECT_NEAR(compute_s(kTwo), 10.75e-3, 1e-12);
  EXPECT_NEAR(step_s(kTwo, 1, {1e15, 0}), 10.75e-3, 1e-8);
}

TEST(TrainingStep, TheImpliedRateGivesTheStepBack) {
  for (const double rate : {3e7, 1e8, 5e8}) {
    const double step = step_s(kTwo, 1, {rate, 0});
    EXPECT_NEAR(implied_rate(kTwo, 1, step), rate, 1e-6 * rate);
  }
}

// Runs the same layers on eight simulated workers and a switch, with a 50th of the elements and
// times. The model's rate is the bound of the packet.
TEST(TrainingStep, TheSimulatorAgrees) {
  constexpr double kPart = 1.0 / 50;
  for (const Model& model : models()) {
    if (model.layers.size() > 8) continue;  // would repeat the same, and take long
    std::vector<Layer> layers;
    SwitchSum sum;
    double gap_us = 0;
    for (const Layer& layer : model.layers) {
      layers.push_back({static_cast<std::uint64_t>(static_cast<double>(layer.elements) * kPart),
                        layer.forward_us * kPart, layer.backward_us * kPart,
                        layer.update_us * kPart});
    }
    gap_us = forward_s(layers) * 1e6;
    for (std::size_t i = layers.size(); i-- > 0;) {
      gap_us += layers[i].backward_us;
      sum.gaps.push_back(base::nanoseconds(static_cast<std::int64_t>(gap_us * 1e3)));
      sum.sizes.push_back(layers[i].elements);
      gap_us = 0;
    }
    sum.tensors = static_cast<std::uint32_t>(layers.size());
    const SwitchSumTimes times = run(sum);
    ASSERT_TRUE(times.wrong.empty()) << times.wrong.front();
    const double rate = infold_frame(sum.packet_elements).elements_per_second(10e9);
    const std::vector<double> done = sums_done_s(layers, 1, {rate, 10e-6});
    EXPECT_NEAR(times.done_s.back() / done.front(), 1, 0.02) << model.name;
  }
}

}  // namespace
}  // namespace infold::reproduce
