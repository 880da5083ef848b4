// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of float chunks, one for each copy of a slot: what is added to them in any order, and
// what they are rounded to once at the end. All memory is set aside by the constructor; pages that
// no sum needs are never touched. Not thread-safe.
//
//   none --> first --> high --a sum is rounded--> low --that, too--> bins
//
// first: one contribution, as it came. high: a double for each element. low: a second one, for what
// the first lacks. bins: integers (bins.h), which hold every sum; then `high` has NaN and
// infinities alone. The order of contributions decides which step a sum is at, but not what it is
// rounded to.
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
    std::uint32_t wide_sums = 0;     // of them at most so many are unfinished at a time
    std::uint32_t elements_max = 0;  // of a chunk
    std::size_t memory_bytes = 0;    // of memory(), at least
    std::size_t bin_words_max = 0;   // likewise; see bin_words_max()
    // Of each float type; null: the scalar loops.
    const ExactArithmetic* const* arithmetic = nullptr;  // by type
  };

  ExactSums() = default;
  explicit ExactSums(const Options& options);

  // Adds a contribution of so many elements in the tensor's type. The first one after end() begins
  // the sum. Requires: the same type and count for all contributions to a sum.
  void add(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count);
  // The same with the last contribution. Then writes the sum as round() does, and ends it.
  void add_last(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count,
                std::uint32_t divisor, std::byte* out);
  // The same with the doubles of another sum of that type, as sent_doubles() gives them.
  void add_doubles(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count);
  // The same with a row of another sum's bins, as sent_row() gives it.
  void add_row(std::uint32_t sum, DataType dtype, std::uint32_t row, const std::byte* digits,
               std::uint32_t count);

  // For a parent, the sum as it is: two doubles for each element, or rows of integers. The choice
  // may move the sum into bins. A low double that is not 0 counts as one of `lows_max`.
  bool travels_as_doubles(std::uint32_t sum, std::uint32_t lows_max);
  const double* sent_high(std::uint32_t sum) const { return high_of(states_[sum].stretch); }
  // Null: zeros.
  const double* sent_low(std::uint32_t sum) const;
  // Whether some element has a digit other than 0 there. Requires: the sum is in bins.
  bool has_row(std::uint32_t sum, std::uint32_t row) const;
  // Digits of 32 bits, little-endian, between -2^31 and 2^31 - 1.
  void write_row(std::uint32_t sum, std::uint32_t row, std::byte* digits) const;

  // Writes the sum divided by `divisor`, each element rounded once, in the type. Requires: begun.
  void round(std::uint32_t sum, DataType dtype, std::uint32_t count, std::uint32_t divisor,
             std::byte* out);
  // Gives back what the sum holds.
  void end(std::uint32_t sum);
  bool has_begun(std::uint32_t sum) const { return states_[sum].step != Step::none; }
  // Where the sum's doubles are. A sum that has not begun leaves it to others. Valid until the next
  // add() of any kind.
  std::byte* memory(std::uint32_t sum) { return at(states_[sum].stretch); }
  const std::byte* memory(std::uint32_t sum) const { return at(states_[sum].stretch); }

  // How many sums have needed a second double, and bins.
  std::uint64_t repaired() const { return repaired_; }
  std::uint64_t binned() const { return binned_; }
  std::size_t memory_bytes() const;
  std::size_t bins_bytes() const { return bins_.size_bytes(); }  // among them
  // Of all that decides what a sum is rounded to, and how it goes on.
  void add_to_digest(std::uint32_t sum, base::Digest& digest) const;

 private:
  enum class Step : std::uint8_t { none, first, high, low, bins };

  struct State {
    Step step = Step::none;
    DataType dtype = DataType::f32;
    std::uint32_t stretch = 0;  // of the doubles
    std::uint32_t bins = 0;
    std::uint32_t count = 0;
  };

  // In `type`, which is the tensor's or f64.
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
  // A stretch has the first doubles of a sum, then the second ones.
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
  base::ZeroedArray<std::byte> doubles_;  // one stretch more than sums, which is spare
  base::ZeroedArray<std::int64_t> bins_;
  std::size_t stretch_bytes_ = 0;
  std::uint32_t spare_ = 0;
  std::vector<std::uint32_t> free_bins_;
  std::uint64_t repaired_ = 0;
  std::uint64_t binned_ = 0;
};

}  // namespace infold::core
