// SPDX-License-Identifier: Apache-2.0
//
// A count sketch: a few rows of cells, where each element is added to one cell of each row, with a
// sign, by a hash. Sketches of one hash add up: the mean of sketches is the sketch of the mean. An
// element is estimated by the median of its signed cells.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codec/compress/counter_random.h"

namespace infold::codec {

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
  // Where, and with which sign, a row has an element.
  struct Place {
    std::size_t cell = 0;
    bool is_minus = false;
  };
  Place place(std::size_t element, std::size_t row, const CounterRandom& hash) const;
  // Cells of a tensor. A cell with an element that is no finite number is NaN. A cell above the
  // largest f32 is the largest f32.
  std::vector<float> sketch(std::span<const float> tensor, const CounterRandom& hash) const;
  // Makes the cells of these elements zero, but of those that are zero.
  void clear(const HeavyElements& heavy, const CounterRandom& hash, std::span<float> cells) const;
  // The `count` elements whose estimates are largest; of equal ones the first. A NaN is larger than
  // all numbers. Requires: count <= elements.
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

// The nearest f32 that is finite. NaN for what is no finite number.
float to_cell(double value);

}  // namespace infold::codec
