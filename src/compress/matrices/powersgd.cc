// SPDX-License-Identifier: Apache-2.0
//
// The method `powersgd` (Vogels 2019): a parameter is a matrix M and travels as two factors of
// `rank` columns, in two sums of floats, of which the second depends on the first.
//
//   P = M Q, the mean over ranks; its columns made orthonormal: B
//   Q = M^T B, the mean over ranks; the result is B Q^T
//
// Each step begins with the Q of the previous one, so that the factors follow the matrix over the
// steps. A column of Q that is zero begins with random numbers, which are the same on all ranks.
// Parameters with one side travel as they are, and so do parameters whose factors would not be
// smaller. A number that is not finite turns the whole parameter into NaN.
#include <algorithm>
#include <memory>

#include "compress/counter_random.h"
#include "compress/matrices/factors.h"
#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

// Returns 0 if the parameter travels as it is.
std::size_t rank_of(const Shape& shape, const Settings& settings) {
  const MatrixShape matrix = MatrixShape::of(shape);
  const auto rank =
      std::min(static_cast<std::size_t>(settings["rank"]), std::min(matrix.rows, matrix.columns));
  return rank * (matrix.rows + matrix.columns) < shape.elements ? rank : 0;
}

std::vector<float> to_floats(std::span<const double> values) {
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(),
                 [](double value) { return static_cast<float>(value); });
  return floats;
}

class PowerSgd final : public Compressor {
 public:
  PowerSgd(MatrixShape shape, std::size_t rank) : shape_(shape), right_(rank * shape.columns) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    tensor_ = tensor;
    sent_ = to_floats(times(tensor, shape_, first_right(turn)));
    basis_.clear();
    return {Travel::floats, std::as_bytes(std::span(sent_))};
  }
  std::optional<Leg> next(const Answer& answer) override {
    const std::span<const float> mean = answer.floats();
    if (basis_.empty()) {
      basis_.assign(mean.begin(), mean.end());
      orthonormalise(basis_, shape_.rows);
      sent_ = to_floats(times_transposed(tensor_, shape_, basis_));
      return Leg{Travel::floats, std::as_bytes(std::span(sent_))};
    }
    mean_right_.assign(mean.begin(), mean.end());
    return std::nullopt;
  }
  void write_mean(std::span<float> mean) override { multiply(basis_, mean_right_, shape_, mean); }
  void write_sent(std::span<float> sent) const override { multiply(basis_, sent_, shape_, sent); }
  void commit() override { right_ = mean_right_; }
  std::vector<Kept> kept() override { return {{"right factor", &right_}}; }

 private:
  // Returns the kept Q with its columns scaled to length one, so that P is not larger than M.
  std::vector<double> first_right(const Turn& turn) const {
    std::vector<double> right(right_.begin(), right_.end());
    const CounterRandom random = CounterRandom::shared(turn, 0);
    for (std::size_t begin = 0; begin < right.size(); begin += shape_.columns) {
      const auto column = std::span(right).subspan(begin, shape_.columns);
      if (normalise(column)) continue;
      for (std::size_t i = 0; i < column.size(); ++i) {
        column[i] = double{random.uniform(begin + i)} - 0.5;
      }
      normalise(column);
    }
    return right;
  }

  const MatrixShape shape_;
  std::vector<float> right_;  // Q of the last step
  std::span<const float> tensor_;
  std::vector<float> sent_;    // what the last leg sent
  std::vector<double> basis_;  // empty until the first answer
  std::vector<float> mean_right_;
};

}  // namespace

Method powersgd_method() {
  return {.name = "powersgd",
          .summary = "two factors of each matrix, of few columns",
          .bias = Bias::contractive,
          .settings = {{.name = "rank",
                        .usual = 4,
                        .least = 1,
                        .most = 256,
                        .is_whole = true,
                        .meaning = "columns of each factor"}},
          .formula_bits =
              [](const Shape& shape, const Settings& settings, std::uint32_t) {
                const MatrixShape matrix = MatrixShape::of(shape);
                const std::size_t rank = rank_of(shape, settings);
                const std::size_t floats =
                    rank == 0 ? shape.elements : rank * (matrix.rows + matrix.columns);
                return 32.0 * static_cast<double>(floats);
              },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            const std::size_t rank = rank_of(shape, settings);
            if (rank == 0) return none_method().make(shape, settings);
            return std::make_unique<PowerSgd>(MatrixShape::of(shape), rank);
          }};
}

}  // namespace infold::compress
