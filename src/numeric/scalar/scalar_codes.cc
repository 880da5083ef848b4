// SPDX-License-Identifier: Apache-2.0
//
// The scalar loops that compress a tensor (numeric/codes/code_loops.h).
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "numeric/codes/code_loops.h"
#include "numeric/codes/counter_bits.h"

namespace infold::numeric {
namespace {

// The number of sums that are made side by side, so that vector code can make the same sums.
constexpr std::size_t kSums = 8;

float find_largest(const float* x, std::size_t count) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, key_of(x[i]));
  return magnitude_of(std::min(most, kInfinityKey));
}

MagnitudeSums sum_magnitudes(const float* x, std::size_t count, float shift) {
  std::array<double, kSums> sums{};
  std::array<double, kSums> squares{};
  MagnitudeSums all;
  for (std::size_t i = 0; i < count; ++i) {
    const double over = double{std::abs(x[i])} - double{shift};
    if (over <= 0) continue;
    sums[i % kSums] += over;
    squares[i % kSums] += over * over;
    ++all.count;
  }
  all.sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  all.squares = std::accumulate(squares.begin(), squares.end(), 0.0);
  return all;
}

std::size_t count_from(const float* x, std::size_t count, std::uint32_t least, Side side) {
  const SideKeys keys(side);
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += keys(x[i]) >= least ? 1 : 0;
  return found;
}

std::size_t find_from(const float* x, std::size_t count, std::uint32_t least, Side side,
                      std::uint32_t first, std::uint32_t* indices) {
  const SideKeys keys(side);
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    indices[found] = first + static_cast<std::uint32_t>(i);
    found += keys(x[i]) >= least ? 1 : 0;
  }
  return found;
}

void quantise(const float* x, std::size_t count, const Steps& steps, const Draws& draws,
              std::uint32_t* codes) {
  for (std::size_t i = 0; i < count; ++i) {
    const float place = x[i] / steps.divisor * steps.factor + steps.zero;
    const float drawn = place + uniform_of(counter_bits(draws.key, draws.first + i));
    codes[i] = static_cast<std::uint32_t>(drawn > 0 ? std::min(drawn, steps.most) : 0);
  }
}

void vote(const float* x, std::size_t count, std::uint32_t* codes) {
  for (std::size_t i = 0; i < count; ++i) codes[i] = x[i] < 0 ? 0 : 1;
}

void pack(const std::uint32_t* codes, std::size_t count, std::uint32_t width,
          std::uint32_t* integers) {
  const std::size_t group = codes_of_group(width);
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = std::min(group, count - first);
    const std::size_t stride = packed_integers(size, width);
    std::fill_n(integers, stride, 0U);
    for (std::size_t i = 0; i < size; ++i) {
      integers[i % stride] |= codes[first + i] << (i / stride * width);
    }
    integers += stride;
  }
}

void unpack(const std::uint32_t* integers, std::size_t count, std::uint32_t width,
            std::uint32_t* codes) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
  const std::size_t group = codes_of_group(width);
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = std::min(group, count - first);
    const std::size_t stride = packed_integers(size, width);
    for (std::size_t i = 0; i < size; ++i) {
      codes[first + i] = integers[i % stride] >> (i / stride * width) & mask;
    }
    integers += stride;
  }
}

void restore(const std::uint32_t* codes, std::size_t count, double zero, double unit, float* x) {
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>((static_cast<double>(codes[i]) - zero) * unit);
  }
}

void transform(float* x, std::size_t count) {
  for (std::size_t half = 1; half < count; half *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * half) {
      float* const low = x + begin;
      float* const high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float sum = low[i] + high[i];
        high[i] = low[i] - high[i];
        low[i] = sum;
      }
    }
  }
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(count)));
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

void flip(float* x, std::size_t count, const Draws& draws) {
  for (std::size_t i = 0; i < count; ++i) {
    if ((counter_bits(draws.key, draws.first + i) & 1) != 0) x[i] = -x[i];
  }
}

}  // namespace

const CodeLoops& scalar_code_loops() {
  static constexpr CodeLoops kLoops = {find_largest, sum_magnitudes, count_from, find_from,
                                       quantise,     vote,           pack,       unpack,
                                       restore,      transform,      flip};
  return kLoops;
}

}  // namespace infold::numeric
