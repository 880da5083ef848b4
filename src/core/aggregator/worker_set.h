// SPDX-License-Identifier: Apache-2.0
//
// A set of an aggregator's workers, with one bit for each worker number.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/infold_wire.h"

namespace infold::core {

class WorkerSet {
 public:
  bool has(std::uint8_t worker) const { return (words_[worker / 64] >> (worker % 64) & 1) != 0; }
  void add(std::uint8_t worker) { words_[worker / 64] |= std::uint64_t{1} << (worker % 64); }
  void remove(std::uint8_t worker) { words_[worker / 64] &= ~(std::uint64_t{1} << (worker % 64)); }
  bool is_empty() const { return *this == WorkerSet(); }

  // The array's own == would call memcmp, three times a packet and 2 ns each.
  bool operator==(const WorkerSet& other) const {
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) differing |= words_[i] ^ other.words_[i];
    return differing == 0;
  }

  // Visits the workers in rising order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1) {
        const std::size_t bit = static_cast<std::size_t>(std::countr_zero(left));
        visit(static_cast<std::uint8_t>(word * 64 + bit));
      }
    }
  }

  std::span<const std::uint64_t> words() const { return words_; }

 private:
  std::array<std::uint64_t, INFOLD_WORKERS_MAX / 64> words_{};
};

}  // namespace infold::core
