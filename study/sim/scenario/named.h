// SPDX-License-Identifier: Apache-2.0
//
// Named scenarios, for people and for tests that need one trouble at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/sim/scenario/scenario.h"

namespace infold::sim {

struct NamedScenario {
  const char* name;
  const char* summary;
};
std::vector<NamedScenario> scenario_names();

// Overrides for a named scenario; 0 or negative keeps the scenario's own value.
struct NamedOptions {
  std::uint16_t workers = 0;
  std::uint64_t elements = 0;
  std::uint32_t sites = 0;
  std::uint32_t depth = 0;
  std::uint32_t fan_out = 0;  // children of an aggregator above the last level; 0: 2
  // Sets CallPlan.bulk for the large tensor. Machines then do not check themselves, to save time.
  bool bulk = false;
  double loss = -1;
  double duplicate = -1;
  double reorder = -1;
  double corrupt = -1;
  std::int64_t bits_per_second = 0;
  base::Duration round_trip;
  std::string format;  // for the large tensors: "i32", "bfp8", "bfp16", "bfp32", "native",
                       // "agreed", "digits"; or "compressed", with codes of 8 bits
};

inline constexpr std::uint16_t kRanksMax = 4096;

// Returns nothing if there is no such name. Requires: reason_against() returns an empty text.
std::optional<Scenario> named_scenario(std::string_view name, std::uint64_t seed,
                                       const NamedOptions& options = {});

// Returns why no scenario can have these options, or an empty text if one can.
std::string reason_against(std::string_view name, const NamedOptions& options);

// Returns one all-reduce of f32 tensors in this format. Most tests begin with it.
CallPlan sum_of_floats(core::WireFormat format, std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_of_integers(std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_with_agreed_exponents(std::uint64_t elements, std::uint64_t seed = 1);
CallPlan sum_by_digits(std::uint64_t elements, std::uint64_t seed = 1);
// Returns a mean of f32 tensors that travels in the legs of this method.
CallPlan compressed_mean(CompressionPlan compression, std::uint64_t elements,
                         std::uint64_t seed = 1);

}  // namespace infold::sim
