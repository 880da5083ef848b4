// SPDX-License-Identifier: Apache-2.0
//
// Codes ascending indices of a tensor's elements in little more than the entropy of choosing k of n
// elements at random. It is a Rice code of the gaps:
//
//   gap = index - previous index - 1
//   b = floor(log2(77 (2 n - k) / (160 k))), and 0 where that is below 0
//   (gap >> b) zero bits, a one bit, the low b bits of the gap
//
// If k is above n / 2, the other n - k indices are coded instead, and n - k replaces k above.
//
// Gaps of random indices have a geometric distribution, for which this b is best: 77 / 160 is the
// logarithm of the golden ratio, and (2 n - k) / 2 k is near -1 / ln(1 - k / n). An index takes at
// most 0.12 bits more than the entropy, which is log2(e n / k) bits if k is much less than n. No
// code takes more than k (b + 1) + n / 2^b bits, however the indices lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::compress {

// Returns b as above, where `count` is the number of indices that are coded. Requires: count <=
// elements < 2^32.
std::uint32_t rice_bits(std::size_t count, std::size_t elements);

// No code is longer, whatever the number of indices. The bound above is largest for half of the
// elements, where it is 1.5 bits for each element. 2 bits also cover the last byte.
constexpr std::size_t indices_bytes_max(std::size_t elements) { return elements / 4 + 1; }

// Appends the code, filled up to a whole byte with zeros. Requires: the indices are in ascending
// order and below `elements`.
void append_indices(std::span<const std::uint32_t> indices, std::size_t elements,
                    std::vector<std::byte>& code);

// Fills `indices` from a code. Returns false unless the bytes are exactly the code of
// indices.size() ascending indices below `elements`.
bool read_indices(std::span<const std::byte> code, std::size_t elements,
                  std::span<std::uint32_t> indices);

// Returns the entropy of choosing `kept` of `elements` at random, in bits. It serves formulas of
// how much a method sends.
double entropy_of_indices(double kept, double elements);

}  // namespace infold::compress
