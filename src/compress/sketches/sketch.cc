// SPDX-License-Identifier: Apache-2.0
#include "compress/sketches/sketch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace infold::compress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> to_cells(std::span<const double> sums) {
  std::vector<float> cells(sums.size());
  std::transform(sums.begin(), sums.end(), cells.begin(), to_cell);
  return cells;
}

// The magnitude for comparisons, where NaN counts as infinity.
float weight(float value) { return std::isnan(value) ? kInfinity : std::abs(value); }

}  // namespace

float to_cell(double value) {
  if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

SketchShape::Place SketchShape::place(std::size_t element, std::size_t row,
                                      const CounterRandom& hash) const {
  const std::uint64_t bits = hash.bits(element * kRowsMost + row);
  const std::uint64_t sign = hash.bits(~(element * kRowsMost + row));
  return {row * columns_ + static_cast<std::size_t>((bits * columns_) >> 32), sign % 2 == 1};
}

void SketchShape::add(std::size_t element, float value, const CounterRandom& hash,
                      std::span<double> cells) const {
  for (std::size_t row = 0; row < rows_; ++row) {
    const Place at = place(element, row, hash);
    cells[at.cell] += double{at.is_minus ? -value : value};
  }
}

std::vector<float> SketchShape::sketch(std::span<const float> tensor,
                                       const CounterRandom& hash) const {
  std::vector<double> sums(cells());
  for (std::size_t i = 0; i < tensor.size(); ++i) add(i, tensor[i], hash, sums);
  return to_cells(sums);
}

void SketchShape::clear(const HeavyElements& heavy, const CounterRandom& hash,
                        std::span<float> cells) const {
  for (std::size_t i = 0; i < heavy.indices.size(); ++i) {
    if (heavy.values[i] == 0) continue;
    for (std::size_t row = 0; row < rows_; ++row) {
      cells[place(heavy.indices[i], row, hash).cell] = 0;
    }
  }
}

float SketchShape::estimate(std::span<const float> cells, std::size_t element,
                            const CounterRandom& hash) const {
  std::array<float, kRowsMost> values = {};
  for (std::size_t row = 0; row < rows_; ++row) {
    const Place at = place(element, row, hash);
    const float value = at.is_minus ? -cells[at.cell] : cells[at.cell];
    values[row] = std::isnan(value) ? kInfinity : value;
  }
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rows_));
  return to_cell((double{values[(rows_ - 1) / 2]} + double{values[rows_ / 2]}) / 2);
}

HeavyElements SketchShape::find_heavy(std::span<const float> cells, const CounterRandom& hash,
                                      std::size_t elements, std::size_t count) const {
  HeavyElements heavy;
  if (count == 0) return heavy;
  std::vector<float> estimates(elements);
  for (std::size_t i = 0; i < elements; ++i) estimates[i] = estimate(cells, i, hash);
  std::vector<float> weights(elements);
  std::transform(estimates.begin(), estimates.end(), weights.begin(), weight);
  const auto last = weights.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(weights.begin(), last, weights.end(), std::greater<>());
  const float least = *last;
  auto ties = static_cast<std::size_t>(std::count(weights.begin(), last + 1, least));
  for (std::size_t i = 0; i < elements; ++i) {
    const float each = weight(estimates[i]);
    const bool is_tie = each == least && ties > 0;
    if (!is_tie && !(each > least)) continue;
    ties -= is_tie ? 1 : 0;
    heavy.indices.push_back(i);
    heavy.values.push_back(estimates[i]);
  }
  return heavy;
}

}  // namespace infold::compress
