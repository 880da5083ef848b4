// SPDX-License-Identifier: Apache-2.0
//
// Compares predictions with times that follow from the links.
#include "study/whatif/steps_elsewhere.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/predict/placement.h"
#include "study/whatif/testing.h"

namespace infold::whatif {
namespace {

using ::testing::HasSubstr;
using trace::CollectiveKind;

constexpr double kComputeUs = 1500;

Prediction predicted(const RecordedRun& run, const Setting& setting) {
  auto prediction = predict(run, setting, {});
  EXPECT_TRUE(prediction) << prediction.error();
  return prediction.value_or(Prediction());
}

double exposed_us(const RecordedRun& run, const Setting& setting) {
  const Split split = predicted(run, setting).split;
  EXPECT_NEAR(split.compute_us, kComputeUs, 1);
  EXPECT_NEAR(split.step_us, split.compute_us + split.exposed_us + split.waiting_us, 1e-6);
  return split.exposed_us;
}

std::string refusal(const RecordedRun& run, const Setting& setting) {
  const auto prediction = predict(run, setting, {});
  return prediction ? "none" : prediction.error();
}

TEST(Prediction, NowhereTakesNoTime) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 4);
  EXPECT_NEAR(exposed_us(run, setting_at(Place::nowhere)), 0, 1);
}

TEST(Prediction, PacketsAndFormulaAgreeOnOneTensor) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 4);
  for (const Place place : {Place::in_path, Place::workers}) {
    Setting setting = setting_at(place);
    const double packets = exposed_us(run, setting);
    setting.model = Model::formula;
    const double formula = exposed_us(run, setting);
    EXPECT_NEAR(packets / formula, 1, 0.04) << static_cast<int>(place);
  }
  EXPECT_NEAR(exposed_us(run, setting_at(Place::in_path)) / (link_us() + 50), 1, 0.02);
  EXPECT_NEAR(exposed_us(run, setting_at(Place::workers)) / (link_us(1.5) + 100), 1, 0.04);
}

// The planner assumes the largest window, and the simulated workers have to find it. In the past
// they took an answer of unclear origin for the path's shortest time where round trips exceed the
// first timeout of 10 ms. They then took the path itself for a queue and kept half of the window.
TEST(Prediction, AgreesWithThePlannerWhereWindowsBind) {
  constexpr std::int64_t kLong = 39'700'000;
  predict::Question question;
  question.layout = {core::WireFormat::native, core::DataType::f32};
  question.tensor_bytes = kLong;
  question.switch_in_path = true;
  const predict::Passage passage =
      predict::passage_of(question.layout, kLong / 4, question.framing);
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kLong), 4);
  for (const double rate : {1e8, 1e9, 1e10, 1e11}) {
    const double chunk_s =
        8 * static_cast<double>(passage.link_bytes) / static_cast<double>(passage.chunks) / rate;
    // Half a round trip to the switch and back, and a chunk's time on both links.
    const double binding_s = 2 * (predict::kWindow - 2) * chunk_s;
    for (const double round_trip_s : {binding_s, 2.5 * binding_s}) {
      question.worker_rates.assign(4, rate);
      question.rtt_s = round_trip_s;
      double planned_us = 0;
      for (const predict::Placement& placement : predict::predict(question)) {
        if (placement.kind != predict::PlacementKind::switch_in_path) continue;
        planned_us = placement.time_s * 1e6;
        EXPECT_EQ(placement.is_window_bound(), round_trip_s > binding_s) << rate;
      }
      Setting setting = setting_at(Place::in_path);
      setting.bits_per_second = rate;
      setting.round_trip = {static_cast<std::int64_t>(round_trip_s * 1e9)};
      EXPECT_NEAR(exposed_us(run, setting) / planned_us, 1, 0.1)
          << rate << " bit/s, " << round_trip_s << " s";
    }
  }
}

TEST(Prediction, ARingSendsTwiceAsMuch) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 4);
  const double ring = exposed_us(run, setting_at(Place::ring));
  EXPECT_NEAR(ring / (1.5 * kBytes * 8 / 1e3 * 1.062 + 6 * 50), 1, 0.01);
  const RecordedRun gather = run_of(step_with(CollectiveKind::all_gather, kBytes / 4), 4);
  EXPECT_NEAR(exposed_us(gather, setting_at(Place::ring)) / (ring / 2), 1, 0.01);
}

TEST(Prediction, RacksAndHostsHoldTheSums) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 8);
  Setting racks = setting_at(Place::racks, 8);
  racks.parts = 2;
  // Exact partial sums, which have twice as many bytes, travel between a rack's switch and the one
  // above.
  EXPECT_NEAR(exposed_us(run, racks) / exposed_us(run, setting_at(Place::in_path, 8)), 2, 0.1);
  // A host receives all ranks' tensors on its only link. Two hosts receive half of them each.
  Setting hosts = setting_at(Place::hosts, 8);
  EXPECT_NEAR(exposed_us(run, hosts) / link_us(8), 1, 0.05);
  hosts.parts = 2;
  EXPECT_NEAR(exposed_us(run, hosts) / link_us(4), 1, 0.05);
}

TEST(Prediction, GathersAndScattersMoveTheWhole) {
  const Setting setting = setting_at(Place::in_path);
  const RecordedRun gather = run_of(step_with(CollectiveKind::all_gather, kBytes / 4), 4);
  // Parts come one after another. A rank's link is idle while its own part goes to the others.
  EXPECT_NEAR(exposed_us(gather, setting) / link_us(), 1, 0.05);
  const RecordedRun scatter = run_of(step_with(CollectiveKind::reduce_scatter, kBytes), 4);
  EXPECT_NEAR(exposed_us(scatter, setting) / link_us(), 1, 0.05);
  // With twice as many ranks, the whole tensor keeps its size.
  const Setting eight = setting_at(Place::in_path, 8);
  EXPECT_NEAR(exposed_us(gather, eight) / link_us(), 1, 0.05);
  EXPECT_NEAR(exposed_us(scatter, eight) / link_us(), 1, 0.05);
}

TEST(Prediction, LossAndFewSlotsCostTime) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 4);
  Setting setting = setting_at(Place::in_path);
  const double clean = exposed_us(run, setting);
  setting.loss = 0.01;
  const double lossy = exposed_us(run, setting);
  EXPECT_GT(lossy, clean);
  EXPECT_EQ(lossy, exposed_us(run, setting));
  setting.loss = 0;
  setting.slots = 16;
  setting.round_trip = base::milliseconds(1);
  const double few = exposed_us(run, setting);
  setting.slots = 4096;
  EXPECT_GT(few, 1.5 * exposed_us(run, setting));
}

TEST(Prediction, NarrowerFormatsTakeLess) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, kBytes), 4);
  Setting setting = setting_at(Place::in_path);
  setting.wire = WireFormat::bfp16;
  EXPECT_NEAR(exposed_us(run, setting) / (link_us() / 2), 1, 0.05);
  setting.wire = WireFormat::fixed32;
  EXPECT_THAT(refusal(run, setting), HasSubstr("choose another wire format"));
}

TEST(Prediction, BarriersAndRootsTakeTheirTime) {
  const RecordedRun barrier = run_of(step_with(CollectiveKind::barrier, 0), 4);
  EXPECT_NEAR(exposed_us(barrier, setting_at(Place::in_path)), 50, 3);
  EXPECT_NEAR(exposed_us(barrier, setting_at(Place::ring)), 100, 3);
  const RecordedRun broadcast = run_of(step_with(CollectiveKind::broadcast, kBytes), 4);
  EXPECT_NEAR(exposed_us(broadcast, setting_at(Place::in_path)) / link_us(), 1, 0.05);
}

TEST(Prediction, RefusesRunsThatItCannotPlay) {
  EXPECT_THAT(
      RecordedRun::make({{"t.0.et", step_with(CollectiveKind::all_to_all, kBytes)}}).error(),
      HasSubstr("all_to_all"));
  Setting racks = setting_at(Place::racks);
  racks.parts = 3;
  EXPECT_THAT(refusal(run_of(step_with(CollectiveKind::all_reduce, 64), 4), racks),
              HasSubstr("3 racks cannot hold"));
}

TEST(RecordedRun, ALoneTraceStandsForAllRanks) {
  std::vector<trace::NamedTrace> lone = {{"t.3.et", step_with(CollectiveKind::all_gather, 4000)}};
  set_rank(lone.front().trace, 3, 8);
  const RecordedRun run = RecordedRun::make(lone).value();
  EXPECT_EQ(run.ranks(), 8U);
  EXPECT_EQ(run.programs_for(8)[0].nodes, lone.front().trace.nodes);
  EXPECT_EQ(trace::collective_of(run.programs_for(4)[0].nodes[1])->bytes, 8000U);
  EXPECT_EQ(trace::collective_of(run.programs_for(7)[0].nodes[1])->bytes,
            4572U);  // 1143 of 8000 each
}

TEST(RecordedRun, RefusesWhatNoPredictionHolds) {
  const auto reason = [](const trace::Trace& trace, std::int64_t world) {
    std::vector<trace::NamedTrace> lone = {{"t.0.et", trace}};
    set_rank(lone.front().trace, 0, world);
    const auto run = RecordedRun::make(lone);
    return run ? "none" : run.error();
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    EXPECT_THAT(reason(step_with(kind, kMost - 3), 4), HasSubstr("4 GiB"));
  }
  EXPECT_THAT(reason(step_with(CollectiveKind::all_reduce, 64), kMost), HasSubstr("65536 at most"));
  trace::Trace long_one = step_with(CollectiveKind::all_reduce, 64);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    long_one.nodes.push_back(trace::compute_node(10 + i, 0, trace::kReplayedUsMax));
  }
  EXPECT_THAT(reason(long_one, 4), HasSubstr("ten years"));
}

TEST(Prediction, RefusesMoreNodesThanMemoryHolds) {
  trace::Trace trace;
  for (std::uint64_t i = 0; i < 5000; ++i) trace.nodes.push_back(trace::compute_node(i, 0, 1));
  EXPECT_THAT(refusal(run_of(trace, 2), setting_at(Place::nowhere, 1024)),
              HasSubstr("has memory for 4000000"));
}

TEST(Prediction, KnowsHowManyRanksAPlaceHas) {
  const RecordedRun run = run_of(step_with(CollectiveKind::all_reduce, 64), 2);
  EXPECT_THAT(refusal(run, setting_at(Place::in_path, 300)), HasSubstr("choose racks:N"));
  EXPECT_THAT(refusal(run, setting_at(Place::hosts, 300)), HasSubstr("256 ranks at most"));
  EXPECT_THAT(refusal(run, setting_at(Place::workers, 65)), HasSubstr("64 sites"));
}

// Each rank's program is sound, and only the order of their calls differs.
TEST(Prediction, RefusesRanksThatCallInOtherOrders) {
  const auto program = [](std::int64_t rank, std::uint64_t first_us, std::uint64_t second_us) {
    trace::Trace trace;
    trace.nodes = {trace::compute_node(1, 0, first_us), trace::compute_node(2, 0, second_us),
                   trace::collective_node(3, CollectiveKind::all_reduce, 64, 0, 1, {1}),
                   trace::collective_node(4, CollectiveKind::all_reduce, 128, 0, 1, {2})};
    set_rank(trace, rank, 2);
    return trace;
  };
  const RecordedRun run =
      RecordedRun::make({{"t.0.et", program(0, 10, 50)}, {"t.1.et", program(1, 50, 10)}}).value();
  for (const Place place : {Place::nowhere, Place::ring, Place::in_path}) {
    EXPECT_THAT(refusal(run, setting_at(place, 2)), HasSubstr("do not make the same"));
  }
}

}  // namespace
}  // namespace infold::whatif
