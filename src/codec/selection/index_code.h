// SPDX-License-Identifier: Apache-2.0
//
// Ascending indices of a tensor's elements as bits, near the entropy of k random ones of n
// elements. It is Rice's code of the gaps:
//
//   gap = index - previous index - 1
//   b = floor(log2(77 (2 n - k) / (160 k))), and 0 where that is below 0
//   (gap >> b) zero bits, a one bit, the low b bits of the gap
//
// If k is above n / 2, the other n - k indices are coded instead, and k stands for n - k above.
//
// Gaps of random indices have a geometric distribution. For it, this is the best b: 77 / 160 is the
// logarithm of the golden ratio, and (2 n - k) / 2 k is near -1 / ln(1 - k / n). An index takes at
// most 0.12 bits more than the entropy. That is log2(e n / k) bits where k is much less than n. No
// code takes more than k (b + 1) + n / 2^b bits, however the indices lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::codec {

// b, as above, of the indices that are coded. Requires: count <= elements < 2^32.
std::uint32_t rice_bits(std::size_t count, std::size_t elements);

// Appends the code, filled up to a whole byte by zeros. Requires: indices ascend, below elements.
void append_indices(std::span<const std::uint32_t> indices, std::size_t elements,
                    std::vector<std::byte>& code);

// Fills `indices` from a code of as many. False: the bytes are not the code of so many ascending
// indices below `elements`, or there are more bytes.
bool read_indices(std::span<const std::byte> code, std::size_t elements,
                  std::span<std::uint32_t> indices);

// Entropy of `kept` random ones of `elements`, in bits. For formulas of what a method sends.
double entropy_of_indices(double kept, double elements);

}  // namespace infold::codec
