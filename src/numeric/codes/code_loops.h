// SPDX-License-Identifier: Apache-2.0
//
// The loops over elements that compress a tensor, in one table for each instruction set. All tables
// give the same bits, and all functions are pure.
//
// Codes share integers: an integer has 32 / width lanes, the first in its lowest bits. 16 integers
// form a group. Its codes fill the first lanes of all 16, then the second lanes, and so on, so that
// vectors pack codes without moving them sideways. The last group may have fewer codes. It then has
// only as many integers as its codes need, in the same order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "numeric/codes/magnitude_key.h"

namespace infold::numeric {

inline constexpr std::size_t kGroupIntegers = 16;

constexpr std::size_t lanes_of_integer(std::uint32_t width) { return 32 / width; }
constexpr std::size_t codes_of_group(std::uint32_t width) {
  return kGroupIntegers * lanes_of_integer(width);
}
// Returns how many integers hold `codes` codes.
constexpr std::size_t packed_integers(std::size_t codes, std::uint32_t width) {
  return (codes + lanes_of_integer(width) - 1) / lanes_of_integer(width);
}

// Sums of magnitude - shift over the elements whose magnitude is above the shift.
struct MagnitudeSums {
  std::size_t count = 0;
  double sum = 0;
  double squares = 0;
};

// The code of x is x / divisor * factor + zero, plus a random number from [0, 1), rounded down and
// limited to 0 to `most`.
struct Steps {
  float divisor = 1;
  float factor = 1;
  float zero = 0;
  float most = 0;
};

// Determines the random numbers of elements: a key, and the index of the first element.
struct Draws {
  std::uint64_t key = 0;
  std::uint64_t first = 0;
};

struct CodeLoops {
  // Returns the largest magnitude, or infinity if an element is not finite.
  float (*find_largest)(const float* x, std::size_t count) = nullptr;
  // Sums in f64, in an order that all tables share. A NaN makes the sums NaN.
  MagnitudeSums (*sum_magnitudes)(const float* x, std::size_t count, float shift) = nullptr;
  std::size_t (*count_from)(const float* x, std::size_t count, std::uint32_t least,
                            Side side) = nullptr;
  // Writes first + i for each element i whose key is at least `least`, ascending, and returns how
  // many there are. Requires: room for count + kGroupIntegers indices.
  std::size_t (*find_from)(const float* x, std::size_t count, std::uint32_t least, Side side,
                           std::uint32_t first, std::uint32_t* indices) = nullptr;
  // The code of a NaN is 0. Requires: most < 2^24.
  void (*quantise)(const float* x, std::size_t count, const Steps& steps, const Draws& draws,
                   std::uint32_t* codes) = nullptr;
  // Writes code 0 for elements below zero, and 1 for all others.
  void (*vote)(const float* x, std::size_t count, std::uint32_t* codes) = nullptr;
  // Requires: width <= 32, and each code is below 2^width.
  void (*pack)(const std::uint32_t* codes, std::size_t count, std::uint32_t width,
               std::uint32_t* integers) = nullptr;
  void (*unpack)(const std::uint32_t* integers, std::size_t count, std::uint32_t width,
                 std::uint32_t* codes) = nullptr;
  // Writes (code - zero) * unit, computed in f64. Requires: 2 * zero is a whole number below 2^33.
  void (*restore)(const std::uint32_t* codes, std::size_t count, double zero, double unit,
                  float* x) = nullptr;
  // The orthonormal Hadamard transform, which is its own inverse. Requires: `count` is a power of
  // two.
  void (*transform)(float* x, std::size_t count) = nullptr;
  // Negates each element whose random bits are odd.
  void (*flip)(float* x, std::size_t count, const Draws& draws) = nullptr;
};

// Returns the table of scalar loops, which define the bits.
const CodeLoops& scalar_code_loops();

}  // namespace infold::numeric
