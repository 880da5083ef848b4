// SPDX-License-Identifier: Apache-2.0
//
// Compares the models' data with the published totals, and runs the reproduction.
#include "study/reproduce/switchml/models.h"

#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

#include "study/reproduce/switchml/training_step.h"

namespace infold::reproduce {
namespace {

struct Total {
  std::string_view model;
  double millions;    // millions of parameters
  double compute_ms;  // forward and backward on a V100
};
// The published totals, with the digits that are printed.
constexpr Total kTotals[] = {{"Inception", 23.8, 499},  {"ResNet-50", 25.6, 323},
                             {"VGG-16", 138, 425},      {"AlexNet", 61, 255},
                             {"ResNet-101", 44.5, 295}, {"BERT-large", 335, 229}};

TEST(Layers, HaveThePublishedTotals) {
  ASSERT_EQ(models().size(), std::size(kTotals));
  for (std::size_t i = 0; i < std::size(kTotals); ++i) {
    const Model& model = models()[i];
    EXPECT_EQ(model.name, kTotals[i].model);
    double elements = 0;
    for (const Layer& layer : model.layers) elements += static_cast<double>(layer.elements);
    EXPECT_NEAR(elements / 1e6, kTotals[i].millions, 0.5) << model.name;
    EXPECT_NEAR((forward_s(model.layers) + backward_s(model.layers)) * 1e3, kTotals[i].compute_ms,
                1)
        << model.name;
  }
}

TEST(SwitchmlModels, TheScaleReachesTheIdealRate) {
  for (const Model& model : models()) {
    const PublishedImages* const published = published_images(model);
    if (published == nullptr) continue;
    const double step = step_s(model.layers, scale_to_ideal(model), {1e15, 0});
    EXPECT_NEAR(8 * 64 / step, published->ideal, 0.01) << model.name;
  }
}

// The published systems ran below their links' rates, so full links do not have their speed-ups.
// The other targets say why.
TEST(SwitchmlModels, SaysThatFullLinksMissThePublishedSpeedUps) {
  const Report report = switchml_models({.packets = 2'000});
  ASSERT_EQ(report.targets.size(), 3U);
  EXPECT_FALSE(report.targets[0].is_met) << report.targets[0].text;
  EXPECT_TRUE(report.targets[1].is_met) << report.targets[1].text;
  EXPECT_TRUE(report.targets[2].is_met) << report.targets[2].text;
  EXPECT_FALSE(report.is_good());
  EXPECT_TRUE(report.wrong.empty());
  int crossed = 0;
  for (const Figure& figure : report.figures) {
    if (!figure.name.ends_with("speed-up at the others' rates")) continue;
    ++crossed;
    const bool is_vgg = figure.name.starts_with("VGG");
    EXPECT_LE(std::abs(*difference(figure)), is_vgg ? 0.3 : 0.1) << figure.name;
    EXPECT_FALSE(figure.why.empty());
  }
  EXPECT_EQ(crossed, 3);
}

}  // namespace
}  // namespace infold::reproduce
