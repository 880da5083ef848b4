// SPDX-License-Identifier: Apache-2.0
//
// Matrices of low rank as two factors: which matrix a parameter is, and the products between a
// matrix and its factors. Factors have their columns one after the other. Sums are made in f64, in
// an order that no compiler flag changes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <infold/compressor.h>

namespace infold::codec {

struct MatrixShape {
  std::size_t rows = 1;
  std::size_t columns = 0;

  // The cut of a parameter's sides into rows and columns that makes rows + columns least. So a
  // convolution of 64 x 3 x 7 x 7 has 64 rows, and one of 256 x 256 x 1 x 1 has 256.
  static MatrixShape of(const Shape& shape);
};

// matrix x right: `rank` columns of `rows` elements.
std::vector<double> times(std::span<const float> matrix, MatrixShape shape,
                          std::span<const double> right);
// left^T x matrix: `rank` columns of `columns` elements.
std::vector<double> times_transposed(std::span<const float> matrix, MatrixShape shape,
                                     std::span<const double> left);
// left x right^T.
void multiply(std::span<const double> left, std::span<const float> right, MatrixShape shape,
              std::span<float> matrix);
// Makes the columns orthogonal and of length one. A column that the ones before it already hold
// becomes zeros.
void orthonormalise(std::span<double> columns, std::size_t length);
// Makes the column of length one. False, and no change: it has no length, or one that is not
// finite.
bool normalise(std::span<double> column);

}  // namespace infold::codec
