// SPDX-License-Identifier: Apache-2.0
//
// Tests the demo's parts on a small scale, with threads instead of processes. The results that the
// demo claims must hold, and a request to stop must end the training. demo_process_test.py runs the
// whole demo.

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/local_group.h>

#include "study/demo/demo_plot.h"
#include "study/demo/demo_processes.h"

namespace infold::demo {
namespace {

const Progress kGoOn = [](const StepReport&) { return true; };

TrainingOptions small_training() {
  TrainingOptions options;
  options.steps = 8;
  options.training_images = 500;
  options.hash_step = 5;
  return options;
}

// Returns rank 0's result. Each rank reports its own number as its count of lost packets.
TrainingResult train_together(const TrainingOptions& options, const LocalGroupOptions& network,
                              const Progress& progress = kGoOn) {
  LocalGroup group = LocalGroup::create(network).value();
  TrainingResult result;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < group.world(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto count = [rank] { return PacketCounts{100, rank, 0, 0}; };
      TrainingResult own = train_as_rank(options, group[rank], count, progress);
      if (rank == 0) result = std::move(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

TEST(Demo, SeveralWorkersLearnAsWellAsOne) {
  const TrainingOptions options = small_training();
  const TrainingResult alone = train_alone(options, kGoOn);
  const TrainingResult together = train_together(options, {.world = 3, .faults = {.loss = 0.02}});
  ASSERT_EQ(together.error, "");
  ASSERT_EQ(alone.steps.size(), 8U);
  ASSERT_EQ(together.steps.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(alone.steps[i].loss, together.steps[i].loss, 1e-4);
  }
  EXPECT_LT(alone.steps.back().loss, alone.steps.front().loss);
  EXPECT_EQ(together.model_hashes.size(), 3U);
  EXPECT_THAT(together.model_hashes, ::testing::Each(together.model_hashes[0]));
  EXPECT_EQ(together.wrong_sums, 0U);
  EXPECT_EQ(together.packets.passed, 300);
  EXPECT_EQ(together.packets.lost, 3);
  EXPECT_NEAR(together.accuracy, alone.accuracy, 0.01);
}

TEST(Demo, OtherPacketLossesGiveTheSameBits) {
  TrainingOptions options = small_training();
  const TrainingResult first = train_together(options, {.world = 3, .faults = {.loss = 0.02}});
  options.steps = options.hash_step;
  const TrainingResult second = train_together(
      options, {.world = 3, .site_weights = {1, 2}, .faults = {.loss = 0.1, .seed = 9}});
  EXPECT_EQ(first.hash_at_step, second.model_hashes[0]);
}

TEST(Demo, AStopRequestEndsAllWorkersAfterTheSameStep) {
  const TrainingResult result = train_together(
      small_training(), {.world = 3}, [](const StepReport& report) { return report.step < 3; });
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.steps.size(), 3U);
}

TEST(Demo, ImagesDoNotDependOnWhoDrawsThem) {
  const std::size_t several[] = {3, 7, 5};
  const std::size_t one[] = {7};
  const DigitSet all = draw_digits(1, several);
  const DigitSet alone = draw_digits(1, one);
  EXPECT_TRUE(std::ranges::equal(all.image(1), alone.image(0)));
  EXPECT_EQ(all.labels[1], alone.labels[0]);
  EXPECT_FALSE(std::ranges::equal(all.image(0), all.image(1)));
}

TEST(Demo, LinesOfAWorkerComeBackAsTheyWere) {
  TrainingResult sent, read;
  sent.steps = {{1, 2.5, {10, 1, 2, 3}}, {2, 0.1, {20, 2, 3, 4}}};
  sent.seconds = 1.5;
  sent.accuracy = 0.9;
  sent.packets = {30, 3, 4, 5};
  sent.model_hashes = {~0ULL, 7};
  sent.hash_at_step = 1ULL << 63;
  sent.wrong_sums = 2;
  for (const StepReport& step : sent.steps) EXPECT_FALSE(take_line(to_json(step).dump(), read));
  EXPECT_TRUE(take_line(end_to_json(sent).dump(), read));
  ASSERT_EQ(read.steps.size(), 2U);
  EXPECT_EQ(read.steps[1].loss, 0.1);
  EXPECT_EQ(read.steps[1].packets.asked, 4);
  EXPECT_EQ(read.packets.lost, 3);
  EXPECT_EQ(read.model_hashes, sent.model_hashes);
  EXPECT_EQ(read.hash_at_step, sent.hash_at_step);
  EXPECT_EQ(read.wrong_sums, 2U);
  EXPECT_ANY_THROW(take_line("{\"step\":", read));
}

TEST(Demo, ThePlotHoldsBothCurvesAndBothColourSets) {
  const std::vector<StepReport> steps = {{1, 2.0, {9, 3, 4, 0}}, {2, 1.0, {9, 5, 6, 0}}};
  const std::string svg = draw_demo_plot({4, 1, "bfp32", steps, steps});
  EXPECT_THAT(svg, ::testing::StartsWith("<svg"));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, ::testing::HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
  EXPECT_THAT(svg, ::testing::HasSubstr("training loss"));
  EXPECT_THAT(draw_demo_plot({1, 0, "bfp8", {}, {}}), ::testing::EndsWith("</svg>\n"));
}

}  // namespace
}  // namespace infold::demo
