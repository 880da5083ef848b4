// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace infold::core {
namespace {

// The element of a tensor as a double, in `one`.
double element_at(const ExactArithmetic& arithmetic, DataType dtype, const std::byte* x,
                  std::uint32_t index) {
  double one = 0;
  arithmetic.begin(x + std::size_t{index} * infold::element_bytes(dtype), 1, &one);
  return one;
}

void add_double(double value, BinLayout layout, BinColumn<std::int64_t> column) {
  add_to_bins(unpack<F64>(std::bit_cast<std::uint64_t>(value)), layout, column);
}

}  // namespace

ExactSums::ExactSums(const Options& options)
    : options_(options), states_(options.sums), spare_high_(options.sums) {
  static constexpr const ExactArithmetic* kScalarTables[kExactTypes] = {
      &kScalarExact[0], &kScalarExact[1], &kScalarExact[2], &kScalarExact[3]};
  if (options_.arithmetic == nullptr) options_.arithmetic = kScalarTables;
  const std::size_t stretch_bytes = sizeof(double) * options.elements_max;
  highs_ = base::ZeroedArray<std::byte>((options.sums + std::size_t{1}) * stretch_bytes);
  lows_ = base::ZeroedArray<std::byte>((options.wide_sums + std::size_t{1}) * stretch_bytes);
  bins_ = base::ZeroedArray<std::int64_t>(options.wide_sums * options.bin_words_max);
  for (std::uint32_t sum = 0; sum < options.sums; ++sum) states_[sum].high = sum;
  for (std::uint32_t i = options.wide_sums; i-- > 0;) {
    free_lows_.push_back(i + 1);
    free_bins_.push_back(i);
  }
}

void ExactSums::add(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count) {
  add_as(sum, dtype, dtype, x, count);
}

void ExactSums::add_doubles(std::uint32_t sum, DataType dtype, const std::byte* x,
                            std::uint32_t count) {
  add_as(sum, dtype, DataType::f64, x, count);
}

void ExactSums::begin(State& state, DataType dtype, std::uint32_t count) {
  CHECK_THAT(count, <=, options_.elements_max);
  state.step = Step::high;
  state.dtype = dtype;
  state.count = count;
}

void ExactSums::add_as(std::uint32_t sum, DataType dtype, DataType type, const std::byte* x,
                       std::uint32_t count) {
  CHECK_THAT(sum, <, states_.size());
  State& state = states_[sum];
  if (state.step == Step::none) {
    begin(state, dtype, count);
    arithmetic_of(type).begin(x, count, stretch(highs_, state.high));
    return;
  }
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  if (state.step != Step::bins) {
    if (add_high(state, type, x, count) || add_low(state, type, x, count)) return;
    move_to_bins(state);
  }
  add_bins(state, type, x, count);
}

// Two f64 seldom have an exact sum in one: no try is worth it.
bool ExactSums::add_high(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  if (state.dtype == DataType::f64) return false;
  if (!arithmetic_of(type).add(stretch(highs_, state.high), x, count,
                               stretch(highs_, spare_high_))) {
    return false;
  }
  std::swap(state.high, spare_high_);
  return true;
}

bool ExactSums::add_low(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  const bool has_low = state.step == Step::low;
  const double* const low = has_low ? stretch(lows_, state.low) : nullptr;
  if (!arithmetic_of(type).add_both(stretch(highs_, state.high), low, x, count,
                                    stretch(highs_, spare_high_), stretch(lows_, spare_low_))) {
    return false;
  }
  std::swap(state.high, spare_high_);
  if (has_low) {
    std::swap(state.low, spare_low_);
    return true;
  }
  state.step = Step::low;
  state.low = spare_low_;
  CHECK(!free_lows_.empty());
  spare_low_ = free_lows_.back();
  free_lows_.pop_back();
  ++repaired_;
  return true;
}

void ExactSums::move_to_bins(State& state) {
  CHECK(!free_bins_.empty());
  state.bins = free_bins_.back();
  free_bins_.pop_back();
  ++binned_;
  const BinLayout layout = bin_layout(state.dtype);
  double* const high = stretch(highs_, state.high);
  const double* const low = state.step == Step::low ? stretch(lows_, state.low) : nullptr;
  CHECK_THAT(std::size_t{layout.rows} * state.count, <=, options_.bin_words_max);
  std::int64_t* const words = bins_of(state);
  std::memset(words, 0, std::size_t{layout.rows} * state.count * sizeof(*words));
  for (std::uint32_t i = 0; i < state.count; ++i) {
    if (!std::isfinite(high[i])) continue;
    add_double(high[i], layout, {words + i, state.count});
    if (low != nullptr) add_double(low[i], layout, {words + i, state.count});
    high[i] = 0;
  }
  if (low != nullptr) free_lows_.push_back(state.low);
  state.step = Step::bins;
}

void ExactSums::add_bins(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  const BinLayout layout = bin_layout(state.dtype);
  double* const high = stretch(highs_, state.high);
  std::int64_t* const words = bins_of(state);
  for (std::uint32_t i = 0; i < count; ++i) {
    const double value = element_at(arithmetic_of(type), type, x, i);
    if (std::isfinite(value)) {
      add_double(value, layout, {words + i, count});
    } else {
      high[i] += value;
    }
  }
}

void ExactSums::add_row(std::uint32_t sum, DataType dtype, std::uint32_t row,
                        const std::byte* digits, std::uint32_t count) {
  State& state = states_[sum];
  if (state.step == Step::none) {
    begin(state, dtype, count);
    std::fill_n(stretch(highs_, state.high), count, 0.0);
  }
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  CHECK_THAT(row, <, bin_layout(dtype).rows);
  if (state.step != Step::bins) move_to_bins(state);
  std::int64_t* const words = bins_of(state) + std::size_t{row} * count;
  for (std::uint32_t i = 0; i < count; ++i) words[i] += load<std::int32_t>(digits, i);
}

bool ExactSums::travels_as_doubles(std::uint32_t sum, std::uint32_t lows_max) {
  State& state = states_[sum];
  CHECK(state.step != Step::none);
  if (state.step == Step::high) return true;
  if (state.step == Step::low) {
    const double* const low = stretch(lows_, state.low);
    std::uint32_t lows = 0;
    for (std::uint32_t i = 0; i < state.count; ++i) lows += low[i] != 0 ? 1 : 0;
    if (lows <= lows_max) return true;
    move_to_bins(state);
  }
  carry(state);
  return false;
}

const double* ExactSums::sent_low(std::uint32_t sum) const {
  const State& state = states_[sum];
  return state.step == Step::low ? stretch(lows_, state.low) : nullptr;
}

// So that each word is a digit of 32 bits with a sign.
void ExactSums::carry(State& state) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 31;
  const std::uint32_t rows = bin_layout(state.dtype).rows;
  std::int64_t* const words = bins_of(state);
  for (std::uint32_t row = 0; row + 1 < rows; ++row) {
    for (std::uint32_t i = 0; i < state.count; ++i) {
      std::int64_t& word = words[std::size_t{row} * state.count + i];
      const std::int64_t up = (word + kHalf) >> 32;
      word -= up * (std::int64_t{1} << 32);
      words[std::size_t{row + 1} * state.count + i] += up;
    }
  }
}

bool ExactSums::has_row(std::uint32_t sum, std::uint32_t row) const {
  const State& state = states_[sum];
  CHECK(state.step == Step::bins);
  const std::int64_t* const words = bins_of(state) + std::size_t{row} * state.count;
  return std::any_of(words, words + state.count, [](std::int64_t word) { return word != 0; });
}

void ExactSums::write_row(std::uint32_t sum, std::uint32_t row, std::byte* digits) const {
  const State& state = states_[sum];
  const std::int64_t* const words = bins_of(state) + std::size_t{row} * state.count;
  for (std::uint32_t i = 0; i < state.count; ++i) {
    store(digits, i, static_cast<std::int32_t>(words[i]));
  }
}

void ExactSums::round(std::uint32_t sum, DataType dtype, std::uint32_t count, std::uint32_t divisor,
                      std::byte* out) const {
  const State& state = states_[sum];
  CHECK(state.step != Step::none);
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  const double* const high = stretch(highs_, state.high);
  if (state.step != Step::bins) {
    const double* const low = state.step == Step::low ? stretch(lows_, state.low) : nullptr;
    arithmetic_of(dtype).round(high, low, count, divisor, out);
    return;
  }
  const std::int64_t* const words = bins_of(state);
  for (std::uint32_t i = 0; i < count; ++i) {
    round_bins(dtype, words + i, count, high[i], divisor, out, i);
  }
}

void ExactSums::end(std::uint32_t sum) {
  State& state = states_[sum];
  if (state.step == Step::low) free_lows_.push_back(state.low);
  if (state.step == Step::bins) free_bins_.push_back(state.bins);
  state.step = Step::none;
}

}  // namespace infold::core
