// SPDX-License-Identifier: Apache-2.0
//
// Approximates matrices by two factors of low rank. This file says how many rows and columns a
// parameter has as a matrix, and multiplies matrices and factors. A factor stores its columns one
// after another. Sums are made in f64, in an order that no compiler flag changes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <infold/compressor.h>

namespace infold::compress {

struct MatrixShape {
  std::size_t rows = 1;
  std::size_t columns = 0;

  // Splits a parameter's sides into rows and columns such that rows + columns is least. For
  // example, a convolution of 64 x 3 x 7 x 7 has 64 rows, and one of 256 x 256 x 1 x 1 has 256.
  static MatrixShape of(const Shape& shape);
};

// Returns matrix x right, which has `rank` columns of `rows` elements.
std::vector<double> times(std::span<const float> matrix, MatrixShape shape,
                          std::span<const double> right);
// Returns left^T x matrix, transposed: `rank` columns of `columns` elements.
std::vector<double> times_transposed(std::span<const float> matrix, MatrixShape shape,
                                     std::span<const double> left);
// Writes left x right^T to `matrix`.
void multiply(std::span<const double> left, std::span<const float> right, MatrixShape shape,
              std::span<float> matrix);
// Makes the columns orthogonal to each other and of length one. If a column depends linearly on
// earlier columns, it becomes zeros.
void orthonormalise(std::span<double> columns, std::size_t length);
// Scales the column to length one. Returns false and changes nothing if the column is zero or not
// finite.
bool normalise(std::span<double> column);

}  // namespace infold::compress
