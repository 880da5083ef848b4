// SPDX-License-Identifier: Apache-2.0
#include "study/reproduce/neuronabox/neuronabox.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "study/reproduce/neuronabox/beside_emulator.h"
#include "study/whatif/calls/simulated_calls.h"

namespace infold::reproduce {
namespace {

whatif::Setting setting_of(std::uint16_t ranks) {
  whatif::Setting setting;
  setting.ranks = ranks;
  setting.bits_per_second = 1e9;
  setting.round_trip = base::microseconds(40);
  return setting;
}

// Returns when a call of all ranks ends at the first rank.
std::int64_t end_of(whatif::Calls& calls, std::uint16_t ranks, const trace::CallShape& shape) {
  for (std::uint16_t rank = 0; rank < ranks; ++rank) calls.begin({}, {rank, 0, 0}, shape);
  while (true) {
    std::vector<whatif::RankCall> ended;
    const base::Instant now = calls.run(base::Instant::never(), ended);
    const bool is_first = std::any_of(ended.begin(), ended.end(),
                                      [](const whatif::RankCall& each) { return each.rank == 0; });
    if (is_first || now == base::Instant::never()) return now.ns;
  }
}

TEST(BesideEmulator, CallsEndAsAmongRealRanks) {
  using trace::CallShape;
  using trace::CollectiveKind;
  const std::vector<CallShape> shapes = {
      {CollectiveKind::all_reduce, DataType::f32, 1'000'001, 0, 0},
      {CollectiveKind::all_gather, DataType::bf16, 50'000, 400'000, 0},
      {CollectiveKind::broadcast, DataType::i32, 30'000, 0, 1},
      {CollectiveKind::barrier},
      {CollectiveKind::reduce_scatter, DataType::f32, 800'000, 100'000, 0}};
  for (const CallShape& shape : shapes) {
    const whatif::Setting setting = setting_of(8);
    whatif::SimulatedCalls all(setting, whatif::group_of_all(setting.ranks));
    BesideEmulator few(setting, 2);
    const auto wanted = static_cast<double>(end_of(all, 8, shape));
    EXPECT_NEAR(static_cast<double>(end_of(few, 2, shape)) / wanted, 1, 0.02)
        << trace::collective_name(shape.kind) << few.fault();
  }
}

TEST(Neuronabox, IsWithinItsTarget) {
  const Report report = neuronabox({.ranks = 4, .real = 2, .steps = 3, .scale = 0.01});
  EXPECT_EQ(report.wrong, std::vector<std::string>());
  EXPECT_EQ(report.figures.size(), 9U);
  EXPECT_TRUE(report.is_good());
}

}  // namespace
}  // namespace infold::reproduce
