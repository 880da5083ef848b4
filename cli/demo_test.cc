// SPDX-License-Identifier: Apache-2.0
//
// The demo's parts on a small scale: what it claims must hold, and a wish to stop must end it.

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/demo_plot.h"
#include "cli/demo_training.h"

namespace infold::cli {
namespace {

const Progress kGoOn = [](const StepReport&) { return true; };

TrainingOptions small_training() {
  TrainingOptions options;
  options.steps = 8;
  options.training_images = 500;
  options.hash_step = 5;
  options.group.world = 3;
  options.group.faults.loss = 0.02;
  return options;
}

TEST(Demo, TogetherLearnsWhatOneLearnsAlone) {
  const TrainingOptions options = small_training();
  const TrainingResult alone = train_alone(options, kGoOn);
  const TrainingResult together = train_together(options, kGoOn);
  ASSERT_EQ(together.error, "");
  ASSERT_EQ(alone.steps.size(), 8U);
  ASSERT_EQ(together.steps.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(alone.steps[i].loss, together.steps[i].loss, 1e-4);
  }
  EXPECT_LT(alone.steps.back().loss, alone.steps.front().loss);
  EXPECT_THAT(together.parameter_hashes, ::testing::Each(together.parameter_hashes[0]));
  EXPECT_GT(together.network.lost, 0U);
}

TEST(Demo, OtherLossesGiveTheSameBits) {
  TrainingOptions options = small_training();
  const TrainingResult first = train_together(options, kGoOn);
  options.steps = options.hash_step;
  options.group.faults = {.loss = 0.1, .seed = 9};
  options.group.site_weights = {1, 2};
  const TrainingResult second = train_together(options, kGoOn);
  EXPECT_EQ(first.hash_at_step, second.parameter_hashes[0]);
}

TEST(Demo, AWishToStopEndsAllWorkersAfterTheSameStep) {
  const TrainingResult result =
      train_together(small_training(), [](const StepReport& report) { return report.step < 3; });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.steps.size(), 3U);
  EXPECT_THAT(result.parameter_hashes, ::testing::Each(result.parameter_hashes[0]));
}

TEST(Demo, IntegerSumsAreChecked) {
  EXPECT_EQ(check_integer_sum({.world = 4, .faults = {.loss = 0.05}}, 5000), "");
}

TEST(Demo, ThePlotHoldsBothCurvesAndBothColourSets) {
  const std::vector<StepReport> steps = {{1, 2.0, 3, 4}, {2, 1.0, 5, 6}};
  const std::string svg = draw_demo_plot({4, 1, "bfp32", steps, steps});
  EXPECT_THAT(svg, ::testing::StartsWith("<svg"));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, ::testing::HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
  EXPECT_THAT(svg, ::testing::HasSubstr("training loss"));
  EXPECT_THAT(draw_demo_plot({1, 0, "bfp8", {}, {}}), ::testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace infold::cli
