// SPDX-License-Identifier: Apache-2.0
//
// Tests predictions of runs with several groups, on links that the groups share.
#include "study/whatif/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/whatif/testing.h"

namespace infold::whatif {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using trace::CollectiveKind;
using trace::Trace;

// Four ranks in two rows and two columns, as in a mesh of two dimensions. The second call needs the
// first one, or is made at the same time.
struct MeshOptions {
  bool has_columns = true;
  bool is_beside = false;
};

RecordedRun mesh(const MeshOptions& options) {
  std::vector<trace::NamedTrace> traces;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    Trace trace;
    set_rank(trace, rank, 4);
    const std::int64_t row = rank / 2 * 2;
    trace.nodes = {trace::collective_node(1, CollectiveKind::all_reduce, kBytes, 0, 10)};
    add_group(trace, 0, "row " + std::to_string(row), {row, row + 1});
    if (options.has_columns) {
      const std::int64_t column = rank % 2;
      trace.nodes.push_back(trace::collective_node(2, CollectiveKind::all_reduce, kBytes, 0, 10));
      if (!options.is_beside) trace.nodes[1].data_deps = {1};
      add_group(trace, 1, "column " + std::to_string(column), {column, column + 2});
    }
    traces.push_back({"trace." + std::to_string(rank) + ".et", trace});
  }
  return RecordedRun::make(std::move(traces)).value();
}

double step_us(const RecordedRun& run, const Setting& setting) {
  const auto prediction = predict(run, setting, {});
  EXPECT_TRUE(prediction) << prediction.error();
  return prediction ? prediction->split.step_us : 0;
}

std::string refusal(const RecordedRun& run, const Setting& setting) {
  const auto prediction = predict(run, setting, {});
  return prediction ? "none" : prediction.error();
}

TEST(Groups, OfDifferentRanksDoNotDisturbEachOther) {
  const RecordedRun rows = mesh({.has_columns = false});
  for (const Model model : {Model::packets, Model::formula}) {
    Setting setting = setting_at(Place::in_path);
    setting.model = model;
    EXPECT_NEAR(step_us(rows, setting) / (link_us() + 50), 1, 0.03);
    setting.place = Place::workers;
    EXPECT_NEAR(step_us(rows, setting) / (link_us() + 100), 1, 0.05);
  }
  // Each of two ranks sends half of its tensor twice.
  EXPECT_NEAR(step_us(rows, setting_at(Place::ring)) / (1.062 * kBytes * 8 / 1e3), 1, 0.02);
  EXPECT_NEAR(step_us(rows, setting_at(Place::nowhere)), 0, 1);
}

TEST(Groups, OfOneRankShareItsLink) {
  const RecordedRun in_turn = mesh({});
  const RecordedRun beside = mesh({.is_beside = true});
  for (const Model model : {Model::packets, Model::formula}) {
    for (const Place place : {Place::in_path, Place::workers}) {
      Setting setting = setting_at(place);
      setting.model = model;
      EXPECT_NEAR(step_us(in_turn, setting) / (2 * link_us()), 1, 0.06);
      EXPECT_NEAR(step_us(beside, setting) / (2 * link_us()), 1, 0.06);
    }
  }
  Setting hosts = setting_at(Place::hosts);
  // The single link of a host carries the tensors of both ranks of four groups.
  EXPECT_NEAR(step_us(beside, hosts) / (8 * link_us()), 1, 0.06);
}

TEST(Groups, InOneRackDoNotUseTheRacksLink) {
  Setting setting = setting_at(Place::racks);
  setting.parts = 2;
  setting.rack_bits_per_second = 1e8;
  EXPECT_NEAR(step_us(mesh({.has_columns = false}), setting) / link_us(), 1, 0.05);
  // Each rank of a column is alone in its rack. A rack's link carries two columns.
  EXPECT_NEAR(step_us(mesh({.is_beside = true}), setting) / (20 * link_us()), 1, 0.06);
  setting.rack_bits_per_second = 1e10;
  EXPECT_NEAR(step_us(mesh({}), setting) / (2 * link_us()), 1, 0.06);
}

TEST(Groups, WriteTheirRanksIntoPlayedTraces) {
  const auto prediction = predict(mesh({}), setting_at(Place::in_path), {});
  ASSERT_TRUE(prediction) << prediction.error();
  EXPECT_EQ(trace::ranks_of_group(prediction->played[3], "row 2"),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(prediction->played[3].rank(), 3U);
}

TEST(Groups, TakeTheSlotsOfASwitchInTurn) {
  Setting setting = setting_at(Place::in_path);
  setting.slots = 600;
  EXPECT_EQ(refusal(mesh({.has_columns = false}), setting), "none");
  setting.slots = 512;  // as many as one rank asks for
  EXPECT_THAT(refusal(mesh({}), setting), AllOf(HasSubstr("is one of 4"), HasSubstr("--slots")));
  setting.place = Place::workers;  // each rank has slots for each of its jobs
  EXPECT_EQ(refusal(mesh({}), setting), "none");
}

TEST(Groups, OfALoneRankTakeNoTime) {
  std::vector<trace::NamedTrace> traces;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    traces.push_back(
        {"t." + std::to_string(rank) + ".et", step_with(CollectiveKind::all_reduce, kBytes)});
    set_rank(traces.back().trace, rank, 2);
    add_group(traces.back().trace, 1, "own " + std::to_string(rank), {rank});
  }
  const RecordedRun run = RecordedRun::make(std::move(traces)).value();
  for (const Place place : {Place::in_path, Place::workers, Place::hosts, Place::ring}) {
    EXPECT_NEAR(step_us(run, setting_at(place, 2)), 1500, 1);
  }
}

TEST(Groups, KeepTheirRanks) {
  EXPECT_THAT(refusal(mesh({}), setting_at(Place::in_path, 8)),
              AllOf(HasSubstr("has 2 of 4 ranks"), HasSubstr("leave the number of ranks")));
  std::vector<trace::NamedTrace> lone = {{"t.0.et", step_with(CollectiveKind::all_reduce, 64)}};
  set_rank(lone.front().trace, 0, 4);
  add_group(lone.front().trace, 1, "a", {0, 2});
  EXPECT_THAT(RecordedRun::make(lone).error(), HasSubstr("name the traces of all ranks"));
}

// Two groups of all ranks are two jobs, for any number of ranks.
TEST(Groups, OfAllRanksGrowWithTheRun) {
  Trace trace = step_with(CollectiveKind::all_reduce, kBytes);
  trace.nodes.push_back(
      trace::collective_node(9, CollectiveKind::all_reduce, kBytes, 1000, 1, {1}));
  trace.nodes.back().attributes[2] = trace::make_attribute("pg_name", std::string("1"));
  const RecordedRun run = run_of(trace, 2);
  EXPECT_EQ(run.groups().count(), 2U);
  for (const std::uint16_t ranks : {std::uint16_t{2}, std::uint16_t{8}}) {
    EXPECT_NEAR(step_us(run, setting_at(Place::in_path, ranks)) / (1000 + 2 * link_us()), 1, 0.04);
  }
}

TEST(Groups, InOtherOrdersThanTheRacksAreRefused) {
  std::vector<trace::NamedTrace> traces;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    traces.push_back(
        {"t." + std::to_string(rank) + ".et", step_with(CollectiveKind::all_reduce, 64)});
    set_rank(traces.back().trace, rank, 4);
    add_group(traces.back().trace, 1, "a", {0, 2, 1, 3});
  }
  const RecordedRun run = RecordedRun::make(std::move(traces)).value();
  Setting setting = setting_at(Place::racks);
  setting.parts = 2;
  EXPECT_THAT(refusal(run, setting), HasSubstr("not in the order of the racks"));
  EXPECT_EQ(refusal(run, setting_at(Place::in_path)), "none");
}

// Each rank has begun the call that the other one makes second.
TEST(Groups, CalledInOppositeOrdersNeverEnd) {
  std::vector<trace::NamedTrace> traces;
  for (const std::int64_t rank : {0, 1}) {
    Trace trace;
    set_rank(trace, rank, 2);
    for (const std::uint64_t id : {1, 2}) {
      trace.nodes.push_back(trace::collective_node(id, CollectiveKind::all_reduce, kBytes, 0, 10));
    }
    trace.nodes[1].data_deps = {1};
    const std::size_t first = rank == 0 ? 0 : 1;
    add_group(trace, first, "a", {0, 1});
    add_group(trace, 1 - first, "b", {0, 1});
    traces.push_back({"trace." + std::to_string(rank) + ".et", trace});
  }
  const RecordedRun run = RecordedRun::make(std::move(traces)).value();
  for (const Place place : {Place::nowhere, Place::ring, Place::in_path, Place::workers}) {
    EXPECT_THAT(refusal(run, setting_at(place, 2)), HasSubstr("do not end"));
  }
}

TEST(Groups, MayBeNone) {
  Trace trace;
  trace.nodes = {trace::compute_node(1, 0, 700)};
  for (const Model model : {Model::packets, Model::formula}) {
    for (const Place place : {Place::nowhere, Place::in_path, Place::workers, Place::hosts}) {
      Setting setting = setting_at(place, 2);
      setting.model = model;
      EXPECT_NEAR(step_us(run_of(trace, 2), setting), 700, 1);
    }
  }
}

// The contents of files must not overflow the simulator's numbers.
TEST(Groups, HaveABound) {
  Trace trace;
  constexpr std::uint64_t kGroups = 5000;
  for (std::uint64_t i = 0; i < kGroups; ++i) {
    trace.nodes.push_back(trace::collective_node(i + 1, CollectiveKind::all_reduce, 64, 0, 1));
    trace.nodes.back().attributes[2] = trace::make_attribute("pg_name", std::to_string(i));
  }
  std::vector<trace::NamedTrace> traces = {{"t.0.et", trace}, {"t.1.et", trace}};
  for (std::int64_t rank : {0, 1}) set_rank(traces[static_cast<std::size_t>(rank)].trace, rank, 2);
  EXPECT_THAT(RecordedRun::make(traces).error(), HasSubstr("5000 groups"));
  for (trace::NamedTrace& each : traces) each.trace.nodes.resize(1500);
  const RecordedRun run = RecordedRun::make(traces).value();
  Setting setting = setting_at(Place::workers, 2);
  EXPECT_THAT(refusal(run, setting), HasSubstr("3000 members together"));
  EXPECT_EQ(refusal(run, setting_at(Place::ring, 2)), "none");
  trace.nodes.resize(8);
  setting.ranks = 64;
  EXPECT_THAT(refusal(run_of(trace, 2), setting), HasSubstr("too many machines"));
}

}  // namespace
}  // namespace infold::whatif
