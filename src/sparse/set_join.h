// SPDX-License-Identifier: Apache-2.0
//
// The join of one set of blocks from each rank, level by level. The set of those words that
// are not empty is itself a set, of a 32nd of the numbers; levels are made until one is few words
// long. That one is joined as a whole, and then each below it where the one above says that there
// is something. So what is sent, and what is kept, follows what is there and not how long the
// tensor is.
//
//   begin() -> request(0) done -> take_words() -> descend() -> request(1) done ... -> for_each()
//
// Beside the sets ranks tell each other a word each, behind those of the first step.
//
// Not thread-safe; stays where it is while its transfers are in flight.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/worker/worker.h"
#include "sparse/word_set.h"

namespace infold::sparse {

// An urgent transfer that joins words of the ranks bit by bit: those at its output, in place. How
// many, and where, is for the caller to add.
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

  // Of numbers below `numbers`. Takes this rank's from own(), which the caller has filled.
  WordSet& own() { return levels_[0].own; }
  void begin(std::uint64_t numbers, OwnWord own_word);

  std::uint32_t steps() const { return level_count_; }
  // The join of each level, from the top, in place; all but the first are sized later.
  core::TransferRequest request(std::uint32_t step);
  // The first is done: each rank's word, and all else only after that. Valid until begin().
  std::span<const std::uint32_t> take_words();
  // A level but the last is done: how many words the next one has.
  std::uint64_t descend();

  // The last is done: calls visit(number, is_own) for each number that some rank has, in rising
  // order. What ranks of other sizes or a broken aggregator made up beyond the end is left out.
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

  std::array<Level, 5> levels_;  // the blocks themselves, then words of words
  std::uint32_t level_count_ = 0;
  std::uint32_t level_ = 0;  // whose turn it is
  Joined joined_;
  std::vector<std::uint32_t> words_of_ranks_;
  Joined next_;
};

}  // namespace infold::sparse
