// SPDX-License-Identifier: Apache-2.0
#include "api/compression/loaded_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace infold {
namespace {

tl::unexpected<Error> refuse_state(const std::string& message) {
  return tl::unexpected(Error{Code::invalid_argument, "compression: the state" + message, -1, ""});
}

// A float holds each of the two digits exactly.
bool is_step_digit(float value) {
  return value >= 0 && value < static_cast<float>(Parameter::kStepDigit) &&
         value == std::floor(value);
}

}  // namespace

Result<LoadedState> sort_entries(const Entries& entries) {
  LoadedState sorted;
  for (const CompressionState::Entry& entry : entries) {
    const bool counts = entry.what == Parameter::kStepName;
    if (counts && !std::all_of(entry.values.begin(), entry.values.end(), is_step_digit)) {
      return refuse_state(fmt::format("'s count of steps of {} is not a number", entry.parameter));
    }
    sorted[entry.parameter].push_back(entry);
  }
  return sorted;
}

Result<void> fill(const std::string& name, Parameter& parameter, const Entries& entries) {
  for (const compress::Kept& kept : parameter.kept()) {
    const auto entry =
        std::find_if(entries.begin(), entries.end(),
                     [&](const CompressionState::Entry& each) { return each.what == kept.name; });
    if (entry == entries.end()) {
      return refuse_state(fmt::format(" has no {} of {}", kept.name, name));
    }
    if (!kept.is_of_any_size && entry->values.size() != kept.values->size()) {
      return refuse_state(fmt::format("'s {} of {} has {} elements, the model's {}", kept.name,
                                      name, entry->values.size(), kept.values->size()));
    }
    *kept.values = entry->values;
  }
  return {};
}

}  // namespace infold
