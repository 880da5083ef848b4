// SPDX-License-Identifier: Apache-2.0
//
// A set of numbers as words of 32 bits: number i is bit i mod 32 of word i / 32. Words of 0 are not
// stored, so the memory depends on how many numbers the set has, and not on the largest one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace infold::sparse {

inline constexpr std::uint32_t kWordBits = 32;

inline std::uint64_t words_for(std::uint64_t numbers) {
  return (numbers + kWordBits - 1) / kWordBits;
}

// Calls visit(number) for each bit of a word, in ascending order.
template <typename Number, typename Visit>
void for_each_bit(Number place, std::uint32_t word, Visit&& visit) {
  for (; word != 0; word &= word - 1) {
    visit(place * kWordBits + static_cast<Number>(std::countr_zero(word)));
  }
}

struct WordSet {
  std::vector<std::uint32_t> places;  // the words' places, in ascending order
  std::vector<std::uint32_t> words;   // none is 0

  void clear() {
    places.clear();
    words.clear();
  }
  // Requires: the set has no word with a larger place.
  void add_word(std::uint32_t place, std::uint32_t word) {
    if (word == 0) return;
    if (!places.empty() && places.back() == place) {
      words.back() |= word;
      return;
    }
    places.push_back(place);
    words.push_back(word);
  }
  void add(std::uint32_t number) {
    add_word(number / kWordBits, std::uint32_t{1} << number % kWordBits);
  }
};

// Looks up words in ascending order of their places. A word that is not in the set is 0.
class WordCursor {
 public:
  explicit WordCursor(const WordSet& set) : set_(set) {}
  std::uint32_t word_at(std::uint32_t place) {
    while (next_ < set_.places.size() && set_.places[next_] < place) ++next_;
    const bool is_there = next_ < set_.places.size() && set_.places[next_] == place;
    return is_there ? set_.words[next_] : 0;
  }

 private:
  const WordSet& set_;
  std::size_t next_ = 0;
};

}  // namespace infold::sparse
