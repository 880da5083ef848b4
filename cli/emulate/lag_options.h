// SPDX-License-Identifier: Apache-2.0
//
// The options of infold emulate that say how late emulated ranks are.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "emulate/lag/lag.h"

namespace infold::cli {

class LagOptions {
 public:
  void declare(Options& options);
  // Of so many ranks, of which the first are real. The error names the option.
  tl::expected<emulate::Lag, std::string> lag(std::uint32_t ranks, std::uint32_t real) const;

 private:
  bool add_straggler(const std::string& text);
  tl::expected<emulate::LagTable, std::string> table(std::uint32_t ranks) const;
  tl::expected<emulate::LagTable, std::string> of_run(std::uint32_t ranks) const;

  double mean_us_ = 0;
  emulate::Lag stragglers_;
  std::string table_;
  std::string run_;
};

}  // namespace infold::cli
