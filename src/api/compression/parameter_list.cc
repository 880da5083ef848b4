// SPDX-License-Identifier: Apache-2.0
#include "api/compression/parameter_list.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/compression/text_hash.h"

namespace infold {
namespace {

Error refusal(std::string message) {
  return Error{Code::invalid_argument, "compression: " + std::move(message), -1, ""};
}

}  // namespace

ParameterList::ParameterList(std::span<const ParameterView> parameters)
    : views(parameters), text(fmt::format("{} parameters", parameters.size())) {
  for (const ParameterView& each : views) {
    text += fmt::format(", {} of {}", each.name, each.gradient.size());
    for (const std::size_t side : each.sides) text += fmt::format("x{}", side);
  }
  hash = hash_of_text(text);
}

std::optional<Error> ParameterList::problem() const {
  std::vector<std::string_view> names;
  for (const ParameterView& each : views) {
    names.push_back(each.name);
    if (each.sides.empty()) continue;
    std::size_t elements = 1;
    for (const std::size_t side : each.sides) elements *= side;
    if (elements != each.gradient.size()) {
      return refusal(fmt::format("the sides of {} have {} elements, its gradient {}", each.name,
                                 elements, each.gradient.size()));
    }
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return refusal(fmt::format("the parameter {} is passed twice", *twice));
}

}  // namespace infold
