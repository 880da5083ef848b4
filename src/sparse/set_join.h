// SPDX-License-Identifier: Apache-2.0
//
// The join of one set of blocks from each rank, level by level. The words that are not
// empty are a set too, of a 32nd of the numbers. There are levels until one has few words. That
// level is joined as a whole. Each level below is joined only where the level above is not empty.
// So bytes and memory depend on the sets and not on the length of the tensor.
//
//   begin() -> request(0) done -> take_words() -> descend() -> request(1) done ... -> for_each()
//
// Each rank also sends one word of its own to all ranks, after the words of the first step.
//
// Not thread-safe. Must not move while its transfers are in flight.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/worker/worker.h"
#include "sparse/word_set.h"

namespace infold::sparse {

// An urgent transfer that joins words of the ranks by a bitwise or, in place at its output. The
// caller sets their number and address.
core::TransferRequest blank_join();

class SetJoin {
 public:
  // Numbers are 32 bits long; five levels bring 2^32 of them down to 128 words.
  static constexpr std::uint64_t kNumbersMax = std::uint64_t{1} << 32;

  struct OwnWord {
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
    std::uint32_t word = 0;
  };

  // Joins numbers below `numbers`. The caller has put this rank's numbers into own().
  WordSet& own() { return levels_[0].own; }
  void begin(std::uint64_t numbers, OwnWord own_word);

  std::uint32_t steps() const { return level_count_; }
  // The join of each level, from the top, in place. All but the first get their size later.
  core::TransferRequest request(std::uint32_t step);
  // Call it first after the first step is done: each rank's word. Valid until begin().
  std::span<const std::uint32_t> take_words();
  // After a level that is not the last: the number of words of the next level.
  std::uint64_t descend();

  // After the last level: calls visit(number, is_own) for each number of the union, in ascending
  // order. Skips numbers beyond the end, which ranks with other sizes or a broken aggregator may
  // send.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    WordCursor own(levels_[0].own);
    for (std::size_t i = 0; i < joined_.words.size(); ++i) {
      const std::uint32_t own_word = own.word_at(joined_.places[i]);
      for_each_bit(joined_.places[i], joined_.words[i], [&](std::uint32_t number) {
        if (number >= levels_[0].numbers) return;
        visit(number, (own_word >> number % kWordBits & 1) != 0);
      });
    }
  }

 private:
  struct Level {
    std::uint64_t numbers = 0;
    WordSet own;
  };

  // Words side by side, some of which may be 0.
  struct Joined {
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> words;
  };

  void take_own_words(std::uint32_t level);

  std::array<Level, 5> levels_;  // the blocks, then their words, then words of words
  std::uint32_t level_count_ = 0;
  std::uint32_t level_ = 0;  // the current level
  Joined joined_;
  std::vector<std::uint32_t> words_of_ranks_;
  Joined next_;
};

}  // namespace infold::sparse
