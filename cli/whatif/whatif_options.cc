// SPDX-License-Identifier: Apache-2.0
#include "cli/whatif/whatif_options.h"

#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/line/join_flags.h"
#include "cli/line/quantity.h"
#include "core/stripe.h"

namespace infold::cli {
namespace {

using whatif::Place;
using whatif::Setting;

constexpr Range<double> kRates = {1e6, 10e12};
constexpr Range<std::uint64_t> kRanks = {2, 1024};
constexpr Range<std::uint64_t> kSlots = {8, 60'000};
constexpr double kLossMax = 0.3;
constexpr double kRttUsMax = 1'000'000;

constexpr std::pair<std::string_view, Place> kPlaces[] = {
    {"nowhere", Place::nowhere}, {"ring", Place::ring},   {"workers", Place::workers},
    {"switch", Place::in_path},  {"racks", Place::racks}, {"hosts", Place::hosts}};

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
  options.rate_or_none("--rate", rate_, kRates, 0,
                       "Rate of each rank's link, in each direction; none for no limit");
  options.real("--rtt-us", rtt_us_, {0, kRttUsMax},
               "Microseconds from one host to another and back");
  options.real("--loss", setting_.loss, {0, kLossMax},
               "Probability that a link loses a packet, in each direction");
  options.whole<std::uint32_t>("--slots", setting_.slots, {8, 60'000},
                               "Slots of each switch or host that sums");
  options.whole<std::uint16_t>("--ranks", ranks_, {2, 1024},
                               "Number of ranks, which play the recorded ones in turn; as many as "
                               "recorded if it is left out");
  options.list(
      "--place", "PLACE",
      "nowhere, ring, workers, switch, racks:N with 2 to 512 racks, or hosts:N with 1 to "
      "64 hosts",
      "Place of the sums: nowhere (calls end when all ranks have made them), ring (TCP, by "
      "a formula), workers, switch, racks:N or hosts:N; the first four if it is left out",
      [this](const std::string& typed) { return add_place(typed); });
  options.choice("--model", model_, {"packets", "formula"},
                 "packets simulates each packet; formula divides bytes by the rate, at once");
  options.choice("--wire", wire_, {"automatic", "native", "bfp32", "bfp16", "bfp8"},
                 "Wire format of floats that are summed");
  options.whole<std::uint32_t>("--mtu", setting_.framing.mtu, {576, 65535},
                               "MTU of the path in bytes");
  options.whole<std::uint32_t>(
      "--frame-bytes", setting_.framing.frame_bytes, {0, 100},
      "Bytes that a link adds to an IP packet: 38 on Ethernet, 14 on links "
      "that tc shapes, as in a lab");
  options.list(
      "--sweep", "NAME=V1,V2,...",
      "rate, rtt-us, loss, slots or ranks, and values, such as rate=100M,1G,10G",
      "Predict for each of these values in turn; NAME is rate, rtt-us, loss, slots or ranks",
      [this](const std::string& typed) { return set_sweep(typed); });
  options.whole<std::uint64_t>("--seed", setting_.seed, {1, ~std::uint64_t{0} >> 1},
                               "Seed of the losses");
}

bool WhatIfOptions::add_place(const std::string& typed) {
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
              ? Range<std::uint16_t>{2, 512}
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

bool WhatIfOptions::set(Setting& setting, const std::string& name, const std::string& typed) {
  if (name == "rate") {
    const auto rate = parse_rate(typed);
    if (!rate || *rate < kRates.low || *rate > kRates.high) return false;
    setting.bits_per_second = *rate;
  } else if (name == "rtt-us") {
    const auto us = number_in<double>(typed, {0, kRttUsMax});
    if (!us) return false;
    setting.round_trip.ns = static_cast<std::int64_t>(*us * 1e3);
  } else if (name == "loss") {
    const auto loss = number_in<double>(typed, {0, kLossMax});
    if (!loss) return false;
    setting.loss = *loss;
  } else if (name == "slots") {
    const auto slots = number_in(typed, kSlots);
    if (!slots) return false;
    setting.slots = static_cast<std::uint32_t>(*slots);
  } else if (name == "ranks") {
    const auto ranks = number_in(typed, kRanks);
    if (!ranks) return false;
    setting.ranks = static_cast<std::uint16_t>(*ranks);
  } else {
    return false;
  }
  return true;
}

bool WhatIfOptions::set_sweep(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos || !swept_.empty()) return false;
  const std::string name = typed.substr(0, equals);
  for (const std::string& value : split(std::string_view(typed).substr(equals + 1))) {
    Setting unused;
    if (!set(unused, name, value)) return false;
    values_.push_back(value);
  }
  swept_ = name;
  return true;
}

tl::expected<std::vector<PlaceQuestions>, std::string> WhatIfOptions::questions(
    std::uint64_t recorded_ranks) {
  const bool is_known = recorded_ranks >= kRanks.low && recorded_ranks <= kRanks.high;
  if (!is_known && !ranks_ && swept_ != "ranks") {
    return tl::unexpected(
        fmt::format("the run has {} ranks, and a prediction from {} to {}; name them with --ranks",
                    recorded_ranks, kRanks.low, kRanks.high));
  }
  Setting setting = setting_;
  setting.ranks = ranks_.value_or(static_cast<std::uint16_t>(recorded_ranks));
  setting.bits_per_second = rate_;
  setting.round_trip.ns = static_cast<std::int64_t>(rtt_us_ * 1e3);
  setting.wire = wire_of(wire_);
  setting.model = model_ == "formula" ? whatif::Model::formula : whatif::Model::packets;
  std::vector<PlaceQuestions> questions;
  if (swept_.empty()) return std::vector<PlaceQuestions>{{"", places_for(setting)}};
  for (const std::string& value : values_) {
    set(setting, swept_, value);
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
