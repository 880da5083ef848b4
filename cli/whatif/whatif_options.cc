// SPDX-License-Identifier: Apache-2.0
#include "cli/whatif/whatif_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/line/join_flags.h"
#include "cli/line/quantity.h"
#include "core/stripe.h"
#include "core/world.h"
#include "wire/infold_wire.h"

namespace infold::cli {
namespace {

using whatif::Place;
using whatif::Setting;

constexpr Range<double> kRates = {1e6, 10e12};
constexpr Range<std::uint64_t> kRanks = {2, core::kWorldMax};
constexpr Range<std::uint64_t> kSlots = {8, 60'000};
constexpr double kLossMax = 0.3;
constexpr double kRttUsMax = 1'000'000;

constexpr std::pair<std::string_view, Place> kPlaces[] = {
    {"nowhere", Place::nowhere}, {"ring", Place::ring},   {"workers", Place::workers},
    {"switch", Place::in_path},  {"racks", Place::racks}, {"hosts", Place::hosts}};
// Commands that join a job say --place switches.
constexpr std::string_view kInPathElsewhere = "switches";

template <typename Number>
std::optional<Number> number_in(std::string_view typed, Range<Number> allowed) {
  Number value = 0;
  const char* const end = typed.data() + typed.size();
  const auto [stop, error] = std::from_chars(typed.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= allowed.low) || !(value <= allowed.high)) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> split(std::string_view typed) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = typed.find(',');
    parts.emplace_back(typed.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    typed.remove_prefix(comma + 1);
  }
}

}  // namespace

void WhatIfOptions::declare(Options& options) {
  options.rate_or_none("--link", rate_, kRates, 0,
                       "Rate of each rank's link, in each direction; none for no limit");
  options.rate_or_none("--rack-link", rack_rate_, kRates, 0,
                       "Rate of each rack's link to the root, in each direction; as --link if it "
                       "is left out");
  options.real("--rtt-us", rtt_us_, {0, kRttUsMax},
               "Microseconds from one host to another and back");
  options.real("--loss", setting_.loss, {0, kLossMax},
               "Probability that a link loses a packet, in each direction");
  options.whole<std::uint32_t>("--slots", setting_.slots, {8, 60'000},
                               "Slots of each switch or host that sums");
  options.whole<std::uint16_t>("--ranks", ranks_, {2, core::kWorldMax},
                               "Number of ranks, which play the recorded ones in turn; as many as "
                               "recorded if it is left out");
  options.list(
      "--place", "PLACE",
      "nowhere, ring, workers, switch, racks:N with 2 to 256 racks, or hosts:N with 1 to "
      "64 hosts",
      "Place of the sums: nowhere (calls end when all ranks have made them), ring (TCP, by "
      "a formula), workers, switch, racks:N or hosts:N; the first four if it is left out",
      [this](const std::string& typed) { return add_place(typed); });
  options.choice("--model", model_, {"packets", "formula"},
                 "packets simulates each packet; formula divides bytes by the rate, at once");
  options.choice("--format", wire_, {"automatic", "native", "bfp32", "bfp16", "bfp8"},
                 "Wire format of floats that are summed");
  options.whole<std::uint32_t>("--mtu", setting_.framing.mtu, {576, 65535},
                               "MTU of the path in bytes");
  options.whole<std::uint32_t>(
      "--frame-bytes", setting_.framing.frame_bytes, {0, 100},
      "Bytes that a link adds to an IP packet: 38 on Ethernet, 14 on links "
      "that tc shapes, as in a lab");
  options.text(
      "--sweep", sweep_,
      "Predict for each of these values in turn; NAME is link, rack-link, rtt-us, loss, slots or "
      "ranks",
      "NAME=V1,V2,...");
  options.whole<std::uint64_t>("--seed", setting_.seed, {1, ~std::uint64_t{0} >> 1},
                               "Seed of the losses");
  has_slots_ = options.is_given("--slots");
  has_seed_ = options.is_given("--seed");
}

bool WhatIfOptions::add_place(const std::string& typed) {
  if (typed == kInPathElsewhere) return add_place("switch");
  const std::string_view text = typed;
  const std::size_t colon = text.find(':');
  for (const auto& [name, place] : kPlaces) {
    if (text.substr(0, colon) != name) continue;
    const bool is_counted = place == Place::racks || place == Place::hosts;
    if (is_counted != (colon != std::string_view::npos)) return false;
    Setting setting;
    setting.place = place;
    if (is_counted) {
      const Range<std::uint16_t> allowed =
          place == Place::racks
              ? Range<std::uint16_t>{2, 256}
              : Range<std::uint16_t>{1, static_cast<std::uint16_t>(core::Stripe::kSitesMax)};
      const auto parts = number_in(text.substr(colon + 1), allowed);
      if (!parts) return false;
      setting.parts = *parts;
    }
    places_.push_back({typed, setting});
    return true;
  }
  return false;
}

std::string WhatIfOptions::set(Setting& setting, const std::string& name,
                               const std::string& typed) {
  if (name == "link" || name == "rack-link") {
    const auto rate = typed == "none" ? std::optional(0.0) : parse_rate(typed);
    if (!rate || (*rate != 0 && (*rate < kRates.low || *rate > kRates.high))) {
      return "none, or 1M to 10T";
    }
    if (name == "link") {
      setting.bits_per_second = *rate;
    } else {
      setting.rack_bits_per_second = *rate;
    }
  } else if (name == "rtt-us") {
    const auto us = number_in<double>(typed, {0, kRttUsMax});
    if (!us) return fmt::format("0 to {}", kRttUsMax);
    setting.round_trip.ns = static_cast<std::int64_t>(*us * 1e3);
  } else if (name == "loss") {
    const auto loss = number_in<double>(typed, {0, kLossMax});
    if (!loss) return fmt::format("0 to {}", kLossMax);
    setting.loss = *loss;
  } else if (name == "slots") {
    const auto slots = number_in(typed, kSlots);
    if (!slots) return fmt::format("{} to {}", kSlots.low, kSlots.high);
    setting.slots = static_cast<std::uint32_t>(*slots);
  } else {
    const auto ranks = number_in(typed, kRanks);
    if (!ranks) return fmt::format("{} to {}", kRanks.low, kRanks.high);
    setting.ranks = static_cast<std::uint16_t>(*ranks);
  }
  return "";
}

std::string WhatIfOptions::swept() const { return sweep_.substr(0, sweep_.find('=')); }

std::vector<std::string> WhatIfOptions::swept_values() const {
  if (sweep_.empty()) return {};
  return split(std::string_view(sweep_).substr(swept().size() + 1));
}

bool WhatIfOptions::has_place(Place place) const {
  return std::any_of(places_.begin(), places_.end(),
                     [place](const auto& each) { return each.setting.place == place; });
}

std::optional<std::string> WhatIfOptions::find_misfit() const {
  const std::string name = swept();
  constexpr std::string_view kNames[] = {"",     "link",  "rack-link", "rtt-us",
                                         "loss", "slots", "ranks"};
  const bool is_name = std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  if (!is_name || (!sweep_.empty() && (name.empty() || name.size() == sweep_.size()))) {
    return fmt::format(
        "--sweep {}: must be link, rack-link, rtt-us, loss, slots or ranks, and values, "
        "such as link=100M,1G,10G",
        sweep_);
  }
  if ((name == "link" && rate_ > 0) || (name == "loss" && setting_.loss > 0) ||
      (name == "rack-link" && rack_rate_) || (name == "ranks" && ranks_)) {
    return fmt::format("--sweep {0} replaces --{0}; give only one of them", name);
  }
  for (const std::string& value : swept_values()) {
    Setting ignored;
    if (const std::string allowed = set(ignored, name, value); !allowed.empty()) {
      return fmt::format("--sweep {}={}: must be {}", name, value, allowed);
    }
  }
  const bool has_loss = setting_.loss > 0 || name == "loss";
  const bool has_slots = has_slots_() || name == "slots";
  if (model_ == "formula" && (has_loss || has_slots)) {
    return "--model formula knows neither losses nor slots; leave it at packets";
  }
  if (model_ == "formula" && (has_place(Place::racks) || has_place(Place::hosts))) {
    return "--model formula knows neither racks nor hosts; leave it at packets";
  }
  if ((rack_rate_ || name == "rack-link") && !has_place(Place::racks)) {
    return "--rack-link needs racks; add --place racks:N";
  }
  const bool has_packets =
      model_ == "packets" &&
      (places_.empty() || std::any_of(places_.begin(), places_.end(), [](const auto& each) {
         return each.setting.place != Place::nowhere && each.setting.place != Place::ring;
       }));
  if ((has_loss || has_slots) && !has_packets) {
    return fmt::format("--{}: no place has packets of infold; add --place switch or workers",
                       has_loss ? "loss" : "slots");
  }
  const bool has_chance = has_packets && (has_loss || places_.empty() || has_place(Place::workers));
  if (has_seed_() && !has_chance) {
    return "--seed: nothing is random here; add --loss, or --place workers with --model packets";
  }
  return std::nullopt;
}

tl::expected<std::vector<PlaceQuestions>, std::string> WhatIfOptions::questions(
    std::uint64_t recorded_ranks) const {
  const std::string name = swept();
  const bool is_known = recorded_ranks >= kRanks.low && recorded_ranks <= kRanks.high;
  if (!is_known && !ranks_ && name != "ranks") {
    return tl::unexpected(
        fmt::format("the run has {} ranks, and a prediction from {} to {}; name them with --ranks",
                    recorded_ranks, kRanks.low, kRanks.high));
  }
  Setting setting = setting_;
  setting.ranks = ranks_.value_or(is_known ? static_cast<std::uint16_t>(recorded_ranks) : 2);
  setting.bits_per_second = rate_;
  setting.rack_bits_per_second = rack_rate_;
  setting.round_trip.ns = static_cast<std::int64_t>(rtt_us_ * 1e3);
  setting.wire = wire_of(wire_);
  setting.model = model_ == "formula" ? whatif::Model::formula : whatif::Model::packets;
  if (sweep_.empty()) return std::vector<PlaceQuestions>{{"", places_for(setting)}};
  std::vector<PlaceQuestions> questions;
  for (const std::string& value : swept_values()) {
    set(setting, name, value);  // find_misfit() has tried each value
    questions.push_back({value, places_for(setting)});
  }
  return questions;
}

std::vector<NamedSetting> WhatIfOptions::places_for(const Setting& setting) const {
  std::vector<NamedSetting> places = places_;
  if (places.empty()) {
    for (const auto& [name, place] : kPlaces) {
      if (place == Place::racks || place == Place::hosts) continue;
      if (place == Place::workers && setting.ranks > core::Stripe::kSitesMax) continue;
      if (place == Place::in_path && setting.ranks > INFOLD_WORKERS_MAX) continue;
      Setting usual;
      usual.place = place;
      places.push_back({std::string(name), usual});
    }
  }
  for (NamedSetting& each : places) {
    const Setting own = each.setting;
    each.setting = setting;
    each.setting.place = own.place;
    each.setting.parts = own.parts;
  }
  return places;
}

}  // namespace infold::cli
