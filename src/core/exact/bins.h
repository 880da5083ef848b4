// SPDX-License-Identifier: Apache-2.0
//
// Sums floats as integers, without any rounding. A number is a column of 64-bit words, and word k
// counts multiples of 2^(32 k) units. The unit is the last place of the type's smallest number. One
// addition changes a word by less than 2^32, so that 2^30 additions need no carry. All functions
// are pure and use only integer operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/exact/float_bits.h"
#include "core/format.h"
#include "core/world.h"

namespace infold::core {

// f32, f16 and bf16 share one layout, because each f16 and bf16 is an f32.
struct BinLayout {
  int unit_exponent = 0;
  std::uint32_t rows = 0;
};

inline constexpr std::uint32_t kBinRowsMax = 66;

// A sum of kWorldMax numbers of the type, and its sign, fit the rows. A sum below 2^(128 + 10) has
// 287 bits in units of 2^-149, and a sum below 2^(1024 + 10) has 2108 bits in units of 2^-1074.
constexpr BinLayout bin_layout(DataType dtype) {
  return dtype == DataType::f64 ? BinLayout{-1074, kBinRowsMax} : BinLayout{-149, 9};
}

// Returns the most words that the bins of a chunk can take, of any type, if its elements fill
// `bytes` bytes. The type f64 needs the most words per byte.
constexpr std::size_t bin_words_max(std::size_t bytes) { return kBinRowsMax * ((bytes + 7) / 8); }
static_assert(kBinRowsMax * 2 > bin_layout(DataType::f32).rows * 8);
static_assert(32 * bin_layout(DataType::f32).rows >= 128 + 149 + ceil_log2(kWorldMax) + 1);
static_assert(32 * bin_layout(DataType::f64).rows >= 1024 + 1074 + ceil_log2(kWorldMax) + 1);

// The words of one element among those of its neighbours: word k lies at words[k * stride].
template <typename Word>
struct BinColumn {
  Word* words = nullptr;
  std::size_t stride = 1;
};

// Adds a number to the bins. Only a hostile worker sends numbers that a sum of the type cannot
// have; digits of them that do not fit the rows are dropped.
void add_to_bins(const ExactFloat& value, BinLayout layout, BinColumn<std::int64_t> column);

// Does the same for a chunk of f32 in the layout of f32, where word k of element i is words[k *
// count + i]. Adds NaN and infinities to `specials` instead.
void add_floats_to_bins(const std::byte* x, std::uint32_t count, std::int64_t* words,
                        double* specials);

// Returns the column's number divided by `divisor`, with 62 significant bits. The last bit is set
// if any bit after it would be, so that rounding this number once more rounds the quotient
// correctly. Requires: divisor > 0.
ExactFloat quotient_of_bins(BinLayout layout, BinColumn<const std::int64_t> column,
                            std::uint32_t divisor);

}  // namespace infold::core
