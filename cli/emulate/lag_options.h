// SPDX-License-Identifier: Apache-2.0
//
// The options of infold emulate that make emulated ranks late.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "study/emulate/lag/lag.h"

namespace infold::cli {

class LagOptions {
 public:
  void declare(Options& options);
  // Returns the lags in a job with `ranks` ranks, of which the first `real` are real. An error
  // names the option.
  tl::expected<emulate::Lag, std::string> lag(std::uint32_t ranks, std::uint32_t real) const;
  // Whether lags are drawn with the seed.
  bool is_random() const { return mean_us_ > 0; }

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
