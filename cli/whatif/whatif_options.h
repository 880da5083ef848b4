// SPDX-License-Identifier: Apache-2.0
//
// Turns the command line into the settings that infold whatif predicts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "study/whatif/setting.h"

namespace infold::cli {

struct NamedSetting {
  std::string name;  // the name of the place, such as "racks:4"
  whatif::Setting setting;
};

// The places to predict for one value of the swept option.
struct PlaceQuestions {
  std::string value;  // as typed; empty: nothing is swept
  std::vector<NamedSetting> places;
};

class WhatIfOptions {
 public:
  void declare(Options& options);
  // Returns what is wrong with the options, whatever run was recorded.
  std::optional<std::string> find_misfit() const;
  // Returns a single element unless an option is swept. An error is a sentence about the options.
  // Requires: options without a misfit.
  tl::expected<std::vector<PlaceQuestions>, std::string> questions(
      std::uint64_t recorded_ranks) const;
  // Returns the swept option, such as "link", or an empty text if nothing is swept.
  std::string swept() const;

 private:
  bool add_place(const std::string& typed);
  bool has_place(whatif::Place place) const;
  std::vector<std::string> swept_values() const;
  // Sets one of the numbers that a sweep may change. If the text is not such a number, returns what
  // is allowed.
  static std::string set(whatif::Setting& setting, const std::string& name,
                         const std::string& typed);
  std::vector<NamedSetting> places_for(const whatif::Setting& setting) const;

  whatif::Setting setting_;
  std::optional<std::uint16_t> ranks_;
  double rate_ = 0;
  std::optional<double> rack_rate_;  // unset: the same as rate_
  double rtt_us_ = 50;
  std::string model_ = "packets";
  std::string wire_ = "automatic";
  std::vector<NamedSetting> places_;
  std::string sweep_;
  std::function<bool()> has_slots_;  // whether the option was typed
  std::function<bool()> has_seed_;
};

}  // namespace infold::cli
