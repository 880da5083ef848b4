// SPDX-License-Identifier: Apache-2.0
//
// The list of reproductions: name, purpose, and the function that computes the report.
#pragma once

#include <span>
#include <string_view>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct Reproduction {
  const char* name;
  const char* summary;
  Report (*run)(const Progress& progress);
};

// Returns them in the order in which `infold reproduce all` runs them.
std::span<const Reproduction> reproductions();
// Returns null if there is no such name.
const Reproduction* find_reproduction(std::string_view name);

}  // namespace infold::reproduce
