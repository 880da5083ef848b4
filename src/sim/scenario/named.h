// SPDX-License-Identifier: Apache-2.0
//
// Named scenarios, for people and for tests that need one trouble at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"

namespace infold::sim {

struct NamedScenario {
  const char* name;
  const char* summary;
};
std::vector<NamedScenario> scenario_names();

// Overrides of a named scenario; 0 or negative keeps the scenario's own value.
struct NamedOptions {
  std::uint16_t workers = 0;
  std::uint64_t elements = 0;
  std::uint32_t sites = 0;
  std::uint32_t depth = 0;
  std::uint32_t fan_out = 0;  // children of an aggregator above the last level; 0: 2
  // CallPlan.bulk of the large tensor; machines then do not check themselves, to save time.
  bool bulk = false;
  double loss = -1;
  double duplicate = -1;
  double reorder = -1;
  double corrupt = -1;
  std::int64_t bits_per_second = 0;
  base::Duration round_trip;
  std::string format;  // of the large tensors: "i32", "bfp8", "bfp16", "bfp32", "native",
                       // "agreed", "digits"; or "compressed", in codes of 8 bits
};

inline constexpr std::uint16_t kRanksMax = 4096;

// Returns nothing if there is no such name. Requires: reason_against() has none.
std::optional<Scenario> named_scenario(std::string_view name, std::uint64_t seed,
                                       const NamedOptions& options = {});

// Why no scenario can have these options; empty if one can.
std::string reason_against(std::string_view name, const NamedOptions& options);

// One all-reduce of f32 tensors in this format. Most tests begin with it.
CallPlan sum_of_floats(core::WireFormat format, std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_of_integers(std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_with_agreed_exponents(std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_by_digits(std::uint64_t elements, std::uint64_t seed = 1);
// A mean of f32 tensors that travels in the legs of this method.
CallPlan compressed_mean(CompressionPlan compression, std::uint64_t elements,
                         std::uint64_t seed = 1);

}  // namespace infold::sim
