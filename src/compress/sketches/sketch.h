// SPDX-License-Identifier: Apache-2.0
//
// A count sketch has a few rows of cells. Each element is added to one cell of each row; a hash
// chooses the cell and the sign. The mean of sketches with the same hash is the sketch of the mean.
// An element is estimated as the median of its signed cells.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compress/counter_random.h"

namespace infold::compress {

// Some elements of a tensor; all others are zeros.
struct HeavyElements {
  std::vector<std::size_t> indices;  // ascending
  std::vector<float> values;
};

class SketchShape {
 public:
  static constexpr std::size_t kRowsMost = 15;

  // Requires: 1 to kRowsMost rows, 1 to 2^32 - 1 columns.
  SketchShape(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns) {}

  std::size_t cells() const { return rows_ * columns_; }
  // Where a row has an element, and with which sign.
  struct Place {
    std::size_t cell = 0;
    bool is_minus = false;
  };
  Place place(std::size_t element, std::size_t row, const CounterRandom& hash) const;
  // Returns the cells of a tensor. A cell with an element that is not finite is NaN. A cell whose
  // sum is beyond the largest f32 is the largest f32 with its sign.
  std::vector<float> sketch(std::span<const float> tensor, const CounterRandom& hash) const;
  // Sets the cells of these elements to zero, except for elements that are zero.
  void clear(const HeavyElements& heavy, const CounterRandom& hash, std::span<float> cells) const;
  // Returns the `count` elements with the largest estimates. Among equal estimates, the first
  // elements win. A NaN counts as larger than all finite numbers. Requires: count <= elements.
  HeavyElements find_heavy(std::span<const float> cells, const CounterRandom& hash,
                           std::size_t elements, std::size_t count) const;

 private:
  void add(std::size_t element, float value, const CounterRandom& hash,
           std::span<double> cells) const;
  float estimate(std::span<const float> cells, std::size_t element,
                 const CounterRandom& hash) const;

  std::size_t rows_;
  std::size_t columns_;
};

// Returns the nearest finite f32, or NaN if the value is not finite.
float to_cell(double value);

}  // namespace infold::compress
