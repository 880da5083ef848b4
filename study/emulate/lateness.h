// SPDX-License-Identifier: Apache-2.0
//
// How long after their time packets left for real ranks. If packets are late, the emulation has not
// kept pace with the wall clock, and the times that it shows are not valid. Used by one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/instant.h"

namespace infold::emulate {

class Lateness {
 public:
  void add(base::Duration late) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(late.ns, 0));
    ++counts_[index_of(ns)];
    ++count_;
    most_ = std::max(most_, late);
  }
  Lateness& operator+=(const Lateness& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    most_ = std::max(most_, other.most_);
    return *this;
  }
  std::uint64_t count() const { return count_; }
  base::Duration most() const { return most_; }
  // Returns a time that at least this share of the packets kept. It is at most an eighth too large.
  base::Duration quantile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted || seen == count_) return std::min(most_, end_of(i));
    }
    return most_;
  }

 private:
  // There are eight counters for each power of two.
  static constexpr unsigned kBits = 3;
  static std::size_t index_of(std::uint64_t ns) {
    const std::uint64_t value = ns + (1U << kBits);
    const auto power = static_cast<unsigned>(std::bit_width(value)) - 1;
    return ((power - kBits) << kBits) + ((value >> (power - kBits)) & ((1U << kBits) - 1));
  }
  static base::Duration end_of(std::size_t index) {
    const std::size_t shift = index >> kBits;
    const std::uint64_t value = ((index & ((1U << kBits) - 1)) + (1U << kBits) + 1) << shift;
    return {static_cast<std::int64_t>(value - (1U << kBits))};
  }

  std::array<std::uint64_t, (64 - kBits) << kBits> counts_{};
  std::uint64_t count_ = 0;
  base::Duration most_;
};

}  // namespace infold::emulate
