// SPDX-License-Identifier: Apache-2.0
//
// The options of infold emulate that say where sums are made: racks, hosts, switches, ranks, or a
// file with a whole plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "emulate/placement.h"

namespace infold::cli {

class PlacementOptions {
 public:
  void declare(Options& options);
  // The error is for the user. The first ranks are real.
  tl::expected<emulate::Placement, std::string> placement(std::uint32_t ranks,
                                                          std::uint32_t real) const;

 private:
  tl::expected<emulate::Placement, std::string> from_plan(std::uint32_t ranks,
                                                          std::uint32_t real) const;

  std::optional<std::uint32_t> racks_;
  std::optional<std::uint32_t> hosts_;
  std::optional<std::uint32_t> switches_;
  std::string sites_ = "switches";
  std::optional<std::uint16_t> switch_weight_;
  std::string plan_;
};

// A line about a placement that is more than one switch; empty: it is that.
std::string placement_text(const emulate::Placement& placement, std::uint32_t real);

}  // namespace infold::cli
