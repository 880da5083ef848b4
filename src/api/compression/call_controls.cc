// SPDX-License-Identifier: Apache-2.0
#include "api/compression/call_controls.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "api/compression/text_hash.h"

namespace infold {
namespace {

// This rank's times behind the controller's numbers. Zero collectives: none, as no call takes that.
constexpr std::size_t kTimes = 3;

std::string name_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> hash_of(const std::string& name) {
  std::uint64_t hash = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data(), end, hash, 16);
  if (error != std::errc() || last != end) return std::nullopt;
  return hash;
}

std::vector<float> numbers_of(const CallControl& control) {
  std::vector<float> numbers = control.controller.state();
  const codec::CallTimes last = control.last.value_or(codec::CallTimes{});
  for (const float each : {last.collectives, last.codec, last.hidden}) numbers.push_back(each);
  return numbers;
}

bool take_numbers(CallControl& control, std::span<const float> numbers) {
  if (numbers.size() < kTimes) return false;
  const std::span<const float> times = numbers.last(kTimes);
  const auto is_time = [](float value) { return value >= 0 && value <= codec::kCallSecondsMax; };
  if (!std::all_of(times.begin(), times.end(), is_time)) return false;
  if (!control.controller.load(numbers.first(numbers.size() - kTimes))) return false;
  control.last = codec::CallTimes{times[0], times[1], times[2]};
  if (times[0] == 0) control.last.reset();
  return true;
}

}  // namespace

std::string CallControl::text() const {
  std::string text;
  for (const float each : controller.state()) text += fmt::format("{} ", each);
  return name_of(hash_of_text(text));
}

CallControl& CallControls::find(const ParameterList& list, std::uint32_t world) {
  const auto known = controls_.find(list.hash);
  if (known != controls_.end()) return known->second;
  std::vector<codec::Shape> shapes;
  for (const ParameterView& each : list.views) shapes.push_back(shape_of(each));
  CallControl control{.controller = steering_.make_controller(shapes, world),
                      .parameters = list.views.size()};
  if (!list.views.empty()) control.first_parameter = list.views.front().name;
  if (const auto entry = loaded_.find(list.hash); entry != loaded_.end()) {
    take_numbers(control, entry->second.values);  // load() has looked at them
    loaded_.erase(entry);
  }
  return controls_.emplace(list.hash, std::move(control)).first->second;
}

std::vector<CompressionState::Entry> CallControls::state() const {
  std::vector<CompressionState::Entry> entries;
  for (const auto& [hash, control] : controls_) {
    entries.push_back({name_of(hash), kStateName, numbers_of(control)});
  }
  for (const auto& [hash, entry] : loaded_) entries.push_back(entry);
  return entries;
}

void CallControls::clear() {
  controls_.clear();
  loaded_.clear();
}

// What is sound depends on the count of rungs, and on no size.
bool CallControls::load(const CompressionState::Entry& entry) {
  CallControl control{.controller = steering_.make_controller({}, 1)};
  const auto hash = hash_of(entry.parameter);
  if (!hash || !take_numbers(control, entry.values)) return false;
  loaded_[*hash] = entry;
  return true;
}

std::vector<ControlledCall> CallControls::calls() const {
  std::vector<ControlledCall> calls;
  for (const auto& [hash, control] : controls_) {
    const codec::Controller::Setting setting = control.controller.setting();
    calls.push_back({.first_parameter = control.first_parameter,
                     .parameters = control.parameters,
                     .is_compressed = !setting.is_plain,
                     .value = steering_.value(setting.rung)});
  }
  return calls;
}

}  // namespace infold
