// SPDX-License-Identifier: Apache-2.0
#include "compress/matrices/factors.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace infold::compress {
namespace {

// Factors travel in f32, so a remainder of a column below this fraction of its length is only
// rounding.
constexpr double kRounding = 1e-6;

// Keeps 8 sums, so that the compiler can use vector instructions.
template <typename Number>
double dot(std::span<const Number> a, std::span<const double> b) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums) {
    for (std::size_t lane = 0; lane < kSums; ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  for (; i < a.size(); ++i) sums[i % kSums] += static_cast<double>(a[i]) * b[i];
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum;
}

}  // namespace

MatrixShape MatrixShape::of(const Shape& shape) {
  MatrixShape best{1, shape.elements};
  std::size_t rows = 1;
  for (const std::size_t side : shape.sides) {
    rows *= side;
    if (rows == 0) break;
    const std::size_t columns = shape.elements / rows;
    if (rows + columns < best.rows + best.columns) best = {rows, columns};
  }
  return best;
}

std::vector<double> times(std::span<const float> matrix, MatrixShape shape,
                          std::span<const double> right) {
  const std::size_t rank = right.size() / shape.columns;
  std::vector<double> left(rank * shape.rows);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const auto elements = matrix.subspan(row * shape.columns, shape.columns);
    for (std::size_t k = 0; k < rank; ++k) {
      left[k * shape.rows + row] = dot(elements, right.subspan(k * shape.columns, shape.columns));
    }
  }
  return left;
}

std::vector<double> times_transposed(std::span<const float> matrix, MatrixShape shape,
                                     std::span<const double> left) {
  const std::size_t rank = left.size() / shape.rows;
  std::vector<double> right(rank * shape.columns);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const auto elements = matrix.subspan(row * shape.columns, shape.columns);
    for (std::size_t k = 0; k < rank; ++k) {
      const double factor = left[k * shape.rows + row];
      double* const sums = right.data() + k * shape.columns;
      for (std::size_t i = 0; i < shape.columns; ++i) sums[i] += factor * double{elements[i]};
    }
  }
  return right;
}

void multiply(std::span<const double> left, std::span<const float> right, MatrixShape shape,
              std::span<float> matrix) {
  const std::size_t rank = left.size() / shape.rows;
  std::vector<double> sums(shape.columns);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t k = 0; k < rank; ++k) {
      const double factor = left[k * shape.rows + row];
      const float* const column = right.data() + k * shape.columns;
      for (std::size_t i = 0; i < shape.columns; ++i) sums[i] += factor * double{column[i]};
    }
    float* const elements = matrix.data() + row * shape.columns;
    for (std::size_t i = 0; i < shape.columns; ++i) elements[i] = static_cast<float>(sums[i]);
  }
}

bool normalise(std::span<double> column) {
  double largest = 0;
  for (const double value : column) {
    if (!std::isfinite(value)) return false;
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return false;
  double squares = 0;
  for (double& value : column) {
    value /= largest;  // its squares might otherwise underflow or overflow
    squares += value * value;
  }
  const double length = std::sqrt(squares);
  for (double& value : column) value /= length;
  return true;
}

void orthonormalise(std::span<double> columns, std::size_t length) {
  for (std::size_t begin = 0; begin < columns.size(); begin += length) {
    const auto column = columns.subspan(begin, length);
    if (!normalise(column)) {
      // A column with a number that is not finite becomes NaN, so that it shows in the result.
      const bool is_zero =
          std::all_of(column.begin(), column.end(), [](double v) { return v == 0; });
      if (!is_zero) std::fill(column.begin(), column.end(), std::nan(""));
      continue;
    }
    for (std::size_t other = 0; other < begin; other += length) {
      const auto earlier = columns.subspan(other, length);
      const double part = dot<double>(column, earlier);
      for (std::size_t i = 0; i < length; ++i) column[i] -= part * earlier[i];
    }
    const double left = std::sqrt(dot<double>(column, column));
    if (left < kRounding || !normalise(column)) {
      const double rest = std::isnan(left) ? left : 0.0;
      std::fill(column.begin(), column.end(), rest);
    }
  }
}

}  // namespace infold::compress
