// SPDX-License-Identifier: Apache-2.0
//
// For tests of sums of rows: tensors of which only some rows have values.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <infold/rows.h>

#include "base/prng.h"

namespace infold::testing {

// A tensor with noise in some rows, and what a rank passes of it: these rows, and some rows of
// zeros.
template <typename T>
struct Drawn {
  std::vector<T> tensor;
  std::vector<std::int64_t> indices;
  std::vector<T> values;
  std::size_t rows = 0;
  std::size_t row_elements = 1;

  RowsView view() const { return {indices, values, rows, row_elements}; }
};

template <typename T>
T noise(base::Prng& prng) {
  const auto bits = static_cast<std::int32_t>(prng.next());
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(std::ldexp(bits, bits % 40));
  return static_cast<T>(bits);
}

template <typename T>
Drawn<T> draw(std::size_t rows, std::size_t row_elements, double density, std::uint64_t seed) {
  base::Prng prng(seed);
  Drawn<T> drawn{std::vector<T>(rows * row_elements), {}, {}, rows, row_elements};
  for (std::size_t row = 0; row < rows; ++row) {
    if (!prng.chance(density)) continue;
    T* const at = &drawn.tensor[row * row_elements];
    const bool is_zero = prng.chance(0.1);
    for (std::size_t i = 0; i < row_elements && !is_zero; ++i) at[i] = noise<T>(prng);
    if (is_zero && std::is_floating_point_v<T>) at[0] = static_cast<T>(-0.0);
    drawn.indices.push_back(static_cast<std::int64_t>(row));
    drawn.values.insert(drawn.values.end(), at, at + row_elements);
  }
  return drawn;
}

// The whole tensor with the rows in their places. Each row must contain a value other than zero.
template <typename T>
std::vector<T> whole(const Rows& rows) {
  std::vector<T> tensor(rows.rows() * rows.row_elements());
  const T* values = static_cast<const T*>(rows.values().data);
  EXPECT_EQ(rows.values().elements, rows.indices().size() * rows.row_elements());
  std::int64_t before = -1;
  for (const std::int64_t row : rows.indices()) {
    EXPECT_GT(row, before);
    before = row;
    bool holds_anything = false;
    T* const at = &tensor[static_cast<std::size_t>(row) * rows.row_elements()];
    for (std::size_t i = 0; i < rows.row_elements(); ++i) {
      at[i] = *values++;
      holds_anything = holds_anything || at[i] != T{0};
    }
    EXPECT_TRUE(holds_anything) << row;
  }
  return tensor;
}

}  // namespace infold::testing
