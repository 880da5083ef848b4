// SPDX-License-Identifier: Apache-2.0
//
// Choices that Python makes by name, such as wire="bfp16". A table has each name and its value.
// Python shows its names as the allowed values, and errors list them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <pybind11/pybind11.h>

namespace infold::pytorch {

template <typename Enum, std::size_t kCount>
using Names = std::array<std::pair<const char*, Enum>, kCount>;

// Throws Python's ValueError with the allowed names if there is no such name.
template <typename Enum, std::size_t kCount>
Enum value_of(const Names<Enum, kCount>& names, const std::string& given, const char* option) {
  std::string allowed;
  for (const auto& [name, value] : names) {
    if (given == name) return value;
    allowed += allowed.empty() ? name : std::string(", ") + name;
  }
  throw pybind11::value_error(std::string("infold: ") + option + " is '" + given +
                              "'; allowed: " + allowed);
}

template <typename Enum, std::size_t kCount>
pybind11::tuple names_of(const Names<Enum, kCount>& all) {
  pybind11::tuple names(kCount);
  for (std::size_t i = 0; i < kCount; ++i) names[i] = all[i].first;
  return names;
}

}  // namespace infold::pytorch
