// SPDX-License-Identifier: Apache-2.0
#include "api/compression/steered_lists.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "api/compression/text_hash.h"

namespace infold {
namespace {

// The state ends with this rank's times. A call always takes time, so zero for the collectives
// means no times.
constexpr std::size_t kTimes = 4;

std::string name_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> hash_of(const std::string& name) {
  std::uint64_t hash = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data(), end, hash, 16);
  if (error != std::errc() || last != end) return std::nullopt;
  return hash;
}

std::vector<float> numbers_of(const SteeredList& own) {
  std::vector<float> numbers = own.steerer.state();
  const compress::CallTimes last = own.last.value_or(compress::CallTimes{});
  for (const float each : {last.collectives, last.codec, last.hidden, last.kept})
    numbers.push_back(each);
  return numbers;
}

bool take_numbers(SteeredList& own, std::span<const float> numbers) {
  if (numbers.size() < kTimes) return false;
  const std::span<const float> times = numbers.last(kTimes);
  const auto is_time = [](float value) { return value >= 0 && value <= compress::kCallSecondsMax; };
  if (!std::all_of(times.begin(), times.end(), is_time)) return false;
  if (!own.steerer.load(numbers.first(numbers.size() - kTimes))) return false;
  own.last = compress::CallTimes{
      .collectives = times[0], .codec = times[1], .hidden = times[2], .kept = times[3]};
  if (times[0] == 0) own.last.reset();
  return true;
}

}  // namespace

std::string SteeredList::text() const {
  std::string text;
  for (const float each : steerer.state()) text += fmt::format("{} ", each);
  return name_of(hash_of_text(text));
}

SteeredList& SteeredLists::find(const ParameterList& list, std::uint32_t world) {
  const auto known = lists_.find(list.hash);
  if (known != lists_.end()) return known->second;
  std::vector<compress::Shape> shapes;
  for (const ParameterView& each : list.views) shapes.push_back(shape_of(each));
  SteeredList own{.steerer = steering_.make_steerer(shapes, world),
                  .parameters = list.views.size()};
  if (!list.views.empty()) own.first_parameter = list.views.front().name;
  if (const auto entry = loaded_.find(list.hash); entry != loaded_.end()) {
    take_numbers(own, entry->second.values);  // checked by load()
    loaded_.erase(entry);
  }
  return lists_.emplace(list.hash, std::move(own)).first->second;
}

std::vector<CompressionState::Entry> SteeredLists::state() const {
  std::vector<CompressionState::Entry> entries;
  for (const auto& [hash, own] : lists_) {
    entries.push_back({name_of(hash), kStateName, numbers_of(own)});
  }
  for (const auto& [hash, entry] : loaded_) entries.push_back(entry);
  return entries;
}

void SteeredLists::clear() {
  lists_.clear();
  loaded_.clear();
}

// Only the number of rungs decides whether a state is sound, so that a steerer without sizes can
// check it.
bool SteeredLists::load(const CompressionState::Entry& entry) {
  SteeredList own{.steerer = steering_.make_steerer({}, 1)};
  const auto hash = hash_of(entry.parameter);
  if (!hash || !take_numbers(own, entry.values)) return false;
  loaded_[*hash] = entry;
  return true;
}

std::vector<SteeredCall> SteeredLists::calls() const {
  std::vector<SteeredCall> calls;
  for (const auto& [hash, own] : lists_) {
    const compress::Steerer::Setting setting = own.steerer.setting();
    calls.push_back({.first_parameter = own.first_parameter,
                     .parameters = own.parameters,
                     .is_compressed = !setting.is_plain,
                     .value = steering_.value(setting.rung),
                     .kept = own.steerer.kept().value_or(0)});
  }
  return calls;
}

}  // namespace infold
