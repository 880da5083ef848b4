// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one call as a text, by which ranks compare them, and what may be wrong with
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <infold/compression.h>
#include <infold/compressor.h>

namespace infold {

struct ParameterList {
  explicit ParameterList(std::span<const ParameterView> parameters);

  std::span<const ParameterView> views;  // as passed
  std::string text;                      // their names and sizes
  std::uint64_t hash = 0;                // of the text

  // Wrong sides, or a name that comes twice.
  std::optional<Error> problem() const;
};

inline codec::Shape shape_of(const ParameterView& view) {
  return {view.gradient.size(), {view.sides.begin(), view.sides.end()}};
}

}  // namespace infold
