// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "base/aligned.h"
#include "base/check.h"

namespace infold::core {
namespace {

// The number of elements whose sums fit in a near cache together with what is added. After each
// strip the processor is asked whether it has rounded.
constexpr std::uint32_t kStrip = 1024;

// A canary build for the exhaustive search treats each rounded sum as exact.
#ifdef INFOLD_CANARY_WITHOUT_ROUNDED
constexpr bool kTakesRoundedSums = true;
#else
constexpr bool kTakesRoundedSums = false;
#endif

// Returns an element of a tensor as a double.
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
    : options_(options), states_(options.sums), spare_(options.sums) {
  static constexpr const ExactArithmetic* kScalarTables[kExactTypes] = {
      &kScalarExact[0], &kScalarExact[1], &kScalarExact[2], &kScalarExact[3]};
  if (options_.arithmetic == nullptr) options_.arithmetic = kScalarTables;
  constexpr std::size_t kLine = base::kCacheLineBytes;
  stretch_bytes_ = std::max(options.memory_bytes, 2 * sizeof(double) * options.elements_max);
  stretch_bytes_ = (stretch_bytes_ + kLine - 1) / kLine * kLine;
  doubles_ = base::ZeroedArray<std::byte>((options.sums + std::size_t{1}) * stretch_bytes_);
  bins_ = base::ZeroedArray<std::int64_t>(options.wide_sums * options.bin_words_max);
  for (std::uint32_t sum = 0; sum < options.sums; ++sum) states_[sum].stretch = sum;
  for (std::uint32_t i = options.wide_sums; i-- > 0;) free_bins_.push_back(i);
}

void ExactSums::add(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count) {
  add_as(sum, dtype, dtype, x, count);
}

// Works strip by strip if it can, so that the sums stay in the cache until they are rounded.
void ExactSums::add_last(std::uint32_t sum, DataType dtype, const std::byte* x, std::uint32_t count,
                         std::uint32_t divisor, std::byte* out) {
  CHECK_THAT(sum, <, states_.size());
  if (!sum_at_once(states_[sum], dtype, x, count, divisor, out)) {
    add(sum, dtype, x, count);
    round(sum, dtype, count, divisor, out);
  }
  end(sum);
}

// Returns false if the sum needs another step, or has only this contribution.
bool ExactSums::sum_at_once(const State& state, DataType dtype, const std::byte* x,
                            std::uint32_t count, std::uint32_t divisor, std::byte* out) {
  if (kTakesRoundedSums) return false;
  if (state.step != Step::first && state.step != Step::high) return false;
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  const ExactArithmetic& arithmetic = arithmetic_of(dtype);
  const std::byte* const first = at(state.stretch);
  if (state.step == Step::first && divisor == 1 && arithmetic.sum_two != nullptr) {
    arithmetic.sum_two(first, x, count, out);
    return true;
  }
  if (dtype == DataType::f64) return false;
  const std::uint32_t width = infold::element_bytes(dtype);
  double* const sums = high_of(spare_);
  for (std::uint32_t i = 0; i < count; i += kStrip) {
    const std::uint32_t size = std::min(kStrip, count - i);
    const std::byte* const from = x + std::size_t{i} * width;
    const bool is_exact = state.step == Step::first
                              ? arithmetic.add_two(first + std::size_t{i} * width, from, size, sums)
                              : arithmetic.add(high_of(state.stretch) + i, from, size, sums);
    if (!is_exact) return false;
    arithmetic.round(sums, nullptr, size, divisor, out + std::size_t{i} * width);
  }
  return true;
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

void ExactSums::widen(State& state) {
  if (state.step != Step::first) return;
  arithmetic_of(state.dtype).begin(at(state.stretch), state.count, high_of(spare_));
  std::swap(state.stretch, spare_);
  state.step = Step::high;
}

void ExactSums::add_as(std::uint32_t sum, DataType dtype, DataType type, const std::byte* x,
                       std::uint32_t count) {
  CHECK_THAT(sum, <, states_.size());
  State& state = states_[sum];
  if (state.step == Step::none) {
    begin(state, dtype, count);
    if (type == dtype) {
      state.step = Step::first;
      std::memcpy(at(state.stretch), x, std::size_t{count} * infold::element_bytes(dtype));
    } else {
      arithmetic_of(type).begin(x, count, high_of(state.stretch));
    }
    return;
  }
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  if (state.step != Step::bins) {
    if (type != dtype) widen(state);
    if (add_high(state, type, x, count)) return;
    widen(state);
    if (add_low(state, type, x, count)) return;
    move_to_bins(state);
  }
  add_bins(state, type, x, count);
}

// The sum of two f64 is seldom exact in one double, so it is not worth a try.
bool ExactSums::add_high(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  if (state.dtype == DataType::f64) return false;
  const ExactArithmetic& arithmetic = arithmetic_of(type);
  const bool is_exact = state.step == Step::first
                            ? arithmetic.add_two(at(state.stretch), x, count, high_of(spare_))
                            : arithmetic.add(high_of(state.stretch), x, count, high_of(spare_));
  if (!is_exact && !kTakesRoundedSums) return false;
  if (state.step == Step::low) {
    std::memcpy(low_of(spare_), low_of(state.stretch), count * sizeof(double));
  }
  if (state.step == Step::first) state.step = Step::high;
  std::swap(state.stretch, spare_);
  return true;
}

bool ExactSums::add_low(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  if (!arithmetic_of(type).add_both(high_of(state.stretch), low_of(state), x, count,
                                    high_of(spare_), low_of(spare_))) {
    return false;
  }
  std::swap(state.stretch, spare_);
  repaired_ += state.step == Step::high ? 1 : 0;
  state.step = Step::low;
  return true;
}

void ExactSums::move_to_bins(State& state) {
  CHECK(!free_bins_.empty());
  state.bins = free_bins_.back();
  free_bins_.pop_back();
  ++binned_;
  const BinLayout layout = bin_layout(state.dtype);
  double* const high = high_of(state.stretch);
  const double* const low = low_of(state);
  CHECK_THAT(std::size_t{layout.rows} * state.count, <=, options_.bin_words_max);
  std::int64_t* const words = bins_of(state);
  std::memset(words, 0, std::size_t{layout.rows} * state.count * sizeof(*words));
  for (std::uint32_t i = 0; i < state.count; ++i) {
    if (!std::isfinite(high[i])) continue;
    add_double(high[i], layout, {words + i, state.count});
    if (low != nullptr) add_double(low[i], layout, {words + i, state.count});
    high[i] = 0;
  }
  state.step = Step::bins;
}

void ExactSums::add_bins(State& state, DataType type, const std::byte* x, std::uint32_t count) {
  const BinLayout layout = bin_layout(state.dtype);
  double* const high = high_of(state.stretch);
  std::int64_t* const words = bins_of(state);
  if (type == DataType::f32) return add_floats_to_bins(x, count, words, high);
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
    std::fill_n(high_of(state.stretch), count, 0.0);
  }
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  CHECK_THAT(row, <, bin_layout(dtype).rows);
  widen(state);
  if (state.step != Step::bins) move_to_bins(state);
  std::int64_t* const words = bins_of(state) + std::size_t{row} * count;
  for (std::uint32_t i = 0; i < count; ++i) words[i] += load<std::int32_t>(digits, i);
}

bool ExactSums::travels_as_doubles(std::uint32_t sum, std::uint32_t lows_max) {
  State& state = states_[sum];
  CHECK(state.step != Step::none);
  widen(state);
  if (state.step == Step::high) return true;
  if (state.step == Step::low) {
    const double* const low = low_of(state);
    std::uint32_t lows = 0;
    for (std::uint32_t i = 0; i < state.count; ++i) lows += low[i] != 0 ? 1 : 0;
    if (lows <= lows_max) return true;
    move_to_bins(state);
  }
  carry(state);
  return false;
}

const double* ExactSums::sent_low(std::uint32_t sum) const { return low_of(states_[sum]); }

// Carries between words, so that each becomes a signed digit of 32 bits.
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
                      std::byte* out) {
  State& state = states_[sum];
  CHECK(state.step != Step::none);
  CHECK(state.dtype == dtype);
  CHECK_THAT(state.count, ==, count);
  widen(state);
  const double* const high = high_of(state.stretch);
  if (state.step != Step::bins) {
    arithmetic_of(dtype).round(high, low_of(state), count, divisor, out);
    return;
  }
  const std::int64_t* const words = bins_of(state);
  for (std::uint32_t i = 0; i < count; ++i) {
    round_bins(dtype, words + i, count, high[i], divisor, out, i);
  }
}

void ExactSums::end(std::uint32_t sum) {
  State& state = states_[sum];
  if (state.step == Step::bins) free_bins_.push_back(state.bins);
  state.step = Step::none;
}

void ExactSums::add_to_digest(std::uint32_t sum, base::Digest& digest) const {
  const State& state = states_[sum];
  digest.add(static_cast<std::uint64_t>(state.step));
  if (state.step == Step::none) return;
  const bool is_first = state.step == Step::first;
  const std::size_t bytes =
      state.count * (is_first ? infold::element_bytes(state.dtype) : sizeof(double));
  digest.add({memory(sum), bytes});
  if (const double* const low = low_of(state)) {
    digest.add({reinterpret_cast<const std::byte*>(low), bytes});
  }
  if (state.step == Step::bins) {
    const std::size_t words = std::size_t{state.count} * bin_layout(state.dtype).rows;
    digest.add(std::as_bytes(std::span(bins_of(state), words)));
  }
}

std::size_t ExactSums::memory_bytes() const {
  return doubles_.size_bytes() + bins_.size_bytes() + states_.capacity() * sizeof(State) +
         free_bins_.capacity() * sizeof(std::uint32_t);
}

}  // namespace infold::core
