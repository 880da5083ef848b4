// SPDX-License-Identifier: Apache-2.0
//
// Joins one set of blocks from each rank, level by level. A level's words that are not
// empty form a set as well, of a 32nd as many numbers, which is the level above. Levels are added
// until the top one has few words. The top level is joined as a whole, and each level below it only
// where the level above is not empty. Bytes and memory therefore depend on the sets and not on the
// length of the tensor.
//
//   begin() -> request(0) done -> take_words() -> descend() -> request(1) done ... -> for_each()
//
// Behind the words of the first step, each rank also sends one word of its own to all ranks.
//
// A SetJoin is not thread-safe and must not move while its transfers are in flight.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/worker/worker.h"
#include "sparse/word_set.h"

namespace infold::sparse {

// Returns an urgent transfer that joins the ranks' words with a bitwise or. The caller sets the
// number and the address of the words.
core::TransferRequest blank_join();

class SetJoin {
 public:
  // Numbers have 32 bits. Five levels bring 2^32 of them down to 128 words.
  static constexpr std::uint64_t kNumbersMax = std::uint64_t{1} << 32;

  struct OwnWord {
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
    std::uint32_t word = 0;
  };

  // Joins numbers below `numbers`. Before begin(), the caller puts this rank's numbers into own().
  WordSet& own() { return levels_[0].own; }
  void begin(std::uint64_t numbers, OwnWord own_word);

  std::uint32_t steps() const { return level_count_; }
  // Returns the transfer that joins a level, beginning with the top level. All but the first get
  // their size later.
  core::TransferRequest request(std::uint32_t step);
  // Call it as soon as the first step is done. Returns each rank's word, valid until the next
  // begin().
  std::span<const std::uint32_t> take_words();
  // Call it after a level that is not the last. Returns the number of words of the next level.
  std::uint64_t descend();

  // Call it after the last level. It calls visit(number, is_own) for each number of the union, in
  // ascending order. It skips numbers beyond the end, which may come from ranks with other sizes or
  // from a broken aggregator.
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

  // Words with their places. Some of the words may be 0.
  struct Joined {
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> words;
  };

  void take_own_words(std::uint32_t level);

  std::array<Level, 5> levels_;  // [0] has the blocks, [1] the words of [0], and so on
  std::uint32_t level_count_ = 0;
  std::uint32_t level_ = 0;  // the current level
  Joined joined_;
  std::vector<std::uint32_t> words_of_ranks_;
  Joined next_;
};

}  // namespace infold::sparse
