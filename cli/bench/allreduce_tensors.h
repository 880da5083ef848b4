// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one size that infold bench allreduce reduces, and the expected results. Used by
// one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include <infold/communicator.h>

#include "study/measure/compare/zeros.h"
#include "study/oracle/whole_values.h"

namespace infold::cli {

enum class Held : std::uint8_t { whole, in_place, rows };

template <typename T>
class Tensors {
 public:
  Tensors(std::size_t elements, int rank, const measure::ZerosOptions& zeros, Held held)
      : elements_(elements), zeros_(zeros, elements), held_(held) {
    if (held == Held::rows) {
      hold_rows(rank, zeros.row_elements);
      return;
    }
    input_.resize(elements);
    output_.resize(elements);
    for (std::size_t i = 0; i < elements; ++i) input_[i] = static_cast<T>(input_at(i, rank));
  }

  // Call this before each call that reduces in place.
  void make_ready() { output_ = input_; }
  Handle all_reduce(Communicator& communicator, const CallOptions& options) {
    switch (held_) {
      case Held::whole: return communicator.all_reduce(input_, output_, options);
      case Held::in_place: return communicator.all_reduce(output_, options);
      case Held::rows: break;
    }
    return communicator.all_reduce({indices_, input_, elements_ / row_elements_, row_elements_},
                                   rows_, options);
  }

  // Returns how many elements of the result differ from the right value by more than `tolerance`.
  std::uint64_t wrong(int world, Reduction reduction, double tolerance) const {
    const std::vector<T> scattered = held_ == Held::rows ? whole() : std::vector<T>();
    const std::vector<T>& result = held_ == Held::rows ? scattered : output_;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < elements_; ++i) {
      const double distance = static_cast<double>(result[i]) - reduced(i, world, reduction);
      // Written so that NaN counts as wrong, because every comparison with NaN is false.
      count += static_cast<std::uint64_t>(!(std::abs(distance) <= tolerance));
    }
    return count;
  }

 private:
  std::int32_t input_at(std::size_t index, int rank) const {
    return zeros_.cover(index, rank)
               ? 0
               : oracle::whole_value_at(index, static_cast<std::uint32_t>(rank));
  }

  double reduced(std::size_t index, int world, Reduction reduction) const {
    double sum = 0;
    double low = input_at(index, 0);
    double high = low;
    for (int rank = 0; rank < world; ++rank) {
      const double input = input_at(index, rank);
      sum += input;
      low = std::min(low, input);
      high = std::max(high, input);
    }
    if (reduction == Reduction::min) return low;
    if (reduction == Reduction::max) return high;
    if (reduction == Reduction::sum) return sum;
    return std::is_integral_v<T> ? std::trunc(sum / world) : sum / world;
  }

  void hold_rows(int rank, std::size_t row_elements) {
    row_elements_ = std::gcd(elements_, row_elements);
    for (std::size_t first = 0; first < elements_; first += row_elements_) {
      if (zeros_.cover(first, rank)) continue;
      indices_.push_back(static_cast<std::int64_t>(first / row_elements_));
      for (std::size_t i = first; i < first + row_elements_; ++i) {
        input_.push_back(
            static_cast<T>(oracle::whole_value_at(i, static_cast<std::uint32_t>(rank))));
      }
    }
  }
  std::vector<T> whole() const {
    std::vector<T> tensor(elements_);
    const T* values = static_cast<const T*>(rows_.values().data);
    for (const std::int64_t row : rows_.indices()) {
      std::copy_n(values, row_elements_, &tensor[static_cast<std::size_t>(row) * row_elements_]);
      values += row_elements_;
    }
    return tensor;
  }

  std::size_t elements_;
  measure::Zeros zeros_;
  Held held_;
  std::vector<T> input_;  // the whole tensor, or the values of its rows
  std::vector<T> output_;
  std::size_t row_elements_ = 1;
  std::vector<std::int64_t> indices_;
  Rows rows_;
};

}  // namespace infold::cli
