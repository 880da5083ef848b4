// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one call as a text, by which ranks compare them, and a check for errors in the
// list.
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
  std::uint64_t hash = 0;                // hash of the text

  // Reports wrong sides, or a name that occurs twice.
  std::optional<Error> problem() const;
};

inline compress::Shape shape_of(const ParameterView& view) {
  return {view.gradient.size(), {view.sides.begin(), view.sides.end()}};
}

}  // namespace infold
