// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of float chunks, one for each copy of a slot. Contributions are added in any order,
// and the sum is rounded once at the end. The constructor allocates all memory, but pages that no
// sum needs are never touched. Not thread-safe.
//
//   none --> first --> high --a sum is rounded--> low --it is again--> bins
//
// In step first, a sum is one contribution, as it came. In step high it has a double for each
// element, and in step low a second double for what the first lacks. In step bins it has integers
// (bins.h), which hold every sum; `high` then has only NaN and infinities. The order of
// contributions decides which step a sum is in, but not the rounded result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/zeroed_array.h"
#include "core/exact/bins.h"
#include "core/exact/exact_arithmetic.h"

namespace infold::core {

class ExactSums {
 public:
  struct Options {
    std::uint32_t sums = 0;          // copies
    std::uint32_t wide_sums = 0;     // the most sums that are unfinished at a time
    std::uint32_t elements_max = 0;  // the most elements in a chunk
    std::size_t memory_bytes = 0;    // the least size of memory()
    std::size_t bin_words_max = 0;   // the most words in the bins of one sum; see bin_words_max()
    // The loops for each float type; null: the scalar loops.
    const ExactArithmetic* const* arithmetic = nullptr;  // by type
  };

  ExactSums() = default;
  explicit ExactSums(const Options& options);

  // Adds a contribution of `count` elements in the tensor's type. The first contribution after
  // end() begins the sum. Requires: the same type and count for all contributions to a sum.
  void add(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count);
  // Adds the last contribution, writes the sum as round() does, and ends it.
  void add_last(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count,
                std::uint32_t divisor, std::byte* out);
  // Adds the doubles of another sum of that type, which sent_high() and sent_low() return.
  void add_doubles(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count);
  // Adds a row of another sum's bins, which write_row() writes.
  void add_row(std::uint32_t sum, DataType dtype, std::uint32_t row, const std::byte* digits,
               std::uint32_t count);

  // Decides how the unrounded sum travels to a parent: as two doubles for each element, or as rows
  // of integers. At most `lows_max` second doubles may be nonzero; otherwise this moves the sum
  // into bins.
  bool travels_as_doubles(std::uint32_t sum, std::uint32_t lows_max);
  const double* sent_high(std::uint32_t sum) const { return high_of(states_[sum].stretch); }
  // Null: zeros.
  const double* sent_low(std::uint32_t sum) const;
  // Returns whether some element has a nonzero digit in this row. Requires: the sum is in bins.
  bool has_row(std::uint32_t sum, std::uint32_t row) const;
  // Writes a row as little-endian digits of 32 bits, between -2^31 and 2^31 - 1.
  void write_row(std::uint32_t sum, std::uint32_t row, std::byte* digits) const;

  // Writes the sum divided by `divisor`, each element rounded once to the type. Requires: the sum
  // has begun.
  void round(std::uint32_t sum, DataType dtype, std::uint32_t count, std::uint32_t divisor,
             std::byte* out);
  // Ends the sum and frees its bins.
  void end(std::uint32_t sum);
  bool has_begun(std::uint32_t sum) const { return states_[sum].step != Step::none; }
  // Returns the memory of the sum's doubles. Others may use it as long as the sum has not begun.
  // Valid until the next add() of any kind.
  std::byte* memory(std::uint32_t sum) { return at(states_[sum].stretch); }
  const std::byte* memory(std::uint32_t sum) const { return at(states_[sum].stretch); }

  // Return how many sums have needed a second double, and how many have needed bins.
  std::uint64_t repaired() const { return repaired_; }
  std::uint64_t binned() const { return binned_; }
  std::size_t memory_bytes() const;
  std::size_t bins_bytes() const { return bins_.size_bytes(); }  // part of memory_bytes()
  // Adds everything that decides what the sum is rounded to, and how it continues.
  void add_to_digest(std::uint32_t sum, base::Digest& digest) const;

 private:
  enum class Step : std::uint8_t { none, first, high, low, bins };

  struct State {
    Step step = Step::none;
    DataType dtype = DataType::f32;
    std::uint32_t stretch = 0;  // the index of the stretch that holds the doubles
    std::uint32_t bins = 0;
    std::uint32_t count = 0;
  };

  // Adds elements of `type`, which is the tensor's type or f64.
  void add_as(std::uint32_t sum, DataType dtype, DataType type, const std::byte* x,
              std::uint32_t count);
  bool sum_at_once(const State& state, DataType dtype, const std::byte* x, std::uint32_t count,
                   std::uint32_t divisor, std::byte* out);
  void widen(State& state);
  bool add_high(State& state, DataType type, const std::byte* x, std::uint32_t count);
  bool add_low(State& state, DataType type, const std::byte* x, std::uint32_t count);
  void begin(State& state, DataType dtype, std::uint32_t count);
  void move_to_bins(State& state);
  void carry(State& state);
  void add_bins(State& state, DataType type, const std::byte* x, std::uint32_t count);

  const ExactArithmetic& arithmetic_of(DataType dtype) const {
    return *options_.arithmetic[static_cast<std::size_t>(dtype)];
  }
  // A stretch holds the first doubles of a sum, and after them the second doubles.
  std::byte* at(std::uint32_t stretch) { return doubles_.data() + stretch * stretch_bytes_; }
  const std::byte* at(std::uint32_t stretch) const {
    return doubles_.data() + stretch * stretch_bytes_;
  }
  double* high_of(std::uint32_t stretch) { return reinterpret_cast<double*>(at(stretch)); }
  const double* high_of(std::uint32_t stretch) const {
    return reinterpret_cast<const double*>(at(stretch));
  }
  double* low_of(std::uint32_t stretch) { return high_of(stretch) + options_.elements_max; }
  const double* low_of(std::uint32_t stretch) const {
    return high_of(stretch) + options_.elements_max;
  }
  // Null: zeros.
  const double* low_of(const State& state) const {
    return state.step == Step::low ? low_of(state.stretch) : nullptr;
  }
  std::int64_t* bins_of(const State& state) {
    return bins_.data() + std::size_t{state.bins} * options_.bin_words_max;
  }
  const std::int64_t* bins_of(const State& state) const {
    return bins_.data() + std::size_t{state.bins} * options_.bin_words_max;
  }

  Options options_;
  std::vector<State> states_;
  base::ZeroedArray<std::byte> doubles_;  // one stretch more than there are sums, as a spare
  base::ZeroedArray<std::int64_t> bins_;
  std::size_t stretch_bytes_ = 0;
  std::uint32_t spare_ = 0;
  std::vector<std::uint32_t> free_bins_;
  std::uint64_t repaired_ = 0;
  std::uint64_t binned_ = 0;
};

}  // namespace infold::core
