// SPDX-License-Identifier: Apache-2.0
//
// From the command line to the settings that infold whatif predicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "whatif/setting.h"

namespace infold::cli {

struct NamedSetting {
  std::string name;  // of the place, as "racks:4"
  whatif::Setting setting;
};

// The places for one value of what is swept.
struct PlaceQuestions {
  std::string value;  // as typed; empty: nothing is swept
  std::vector<NamedSetting> places;
};

class WhatIfOptions {
 public:
  void declare(Options& options);
  // One element without a sweep. The error is a sentence about the options.
  tl::expected<std::vector<PlaceQuestions>, std::string> questions(
      std::uint64_t recorded_ranks) const;
  // What is swept, such as "rate"; empty: nothing.
  std::string swept() const;

 private:
  bool add_place(const std::string& typed);
  // Sets one of the numbers that a sweep may change. Returns what is allowed if the text is no such
  // number.
  static std::string set(whatif::Setting& setting, const std::string& name,
                         const std::string& typed);
  std::vector<NamedSetting> places_for(const whatif::Setting& setting) const;

  whatif::Setting setting_;
  std::optional<std::uint16_t> ranks_;
  double rate_ = 0;
  std::optional<double> rack_rate_;  // unset: as rate_
  double rtt_us_ = 50;
  std::string model_ = "packets";
  std::string wire_ = "automatic";
  std::vector<NamedSetting> places_;
  std::string sweep_;
};

}  // namespace infold::cli
