// SPDX-License-Identifier: Apache-2.0
//
// The set of visited states, by their 128-bit fingerprints. Two states whose fingerprints collide
// count as one; among 10^8 states that has a chance of 10^-23. The set uses open addressing,
// because a node for each state would triple the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/prng.h"

namespace infold::exhaustive {

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// Two independently seeded chains over the words.
inline Fingerprint fingerprint(const std::uint16_t* words, std::size_t count) {
  Fingerprint print{0x9E3779B97F4A7C15ULL, 0xD1B54A32D192ED03ULL};
  for (std::size_t i = 0; i < count; ++i) {
    print.low = base::mix64(print.low ^ words[i]) + 0x632BE59BD9B4E019ULL;
    print.high = base::mix64(print.high + words[i] * 0x9FB21C651E98DF25ULL + 1);
  }
  if (print.low == 0) print.low = 1;  // 0 marks a free place
  return print;
}

class FlatSet {
 public:
  FlatSet() : places_(std::size_t{1} << 16) {}

  std::uint64_t size() const { return size_; }

  bool contains(const Fingerprint& print) { return find(places_, print).low != 0; }

  // Returns whether it was new.
  bool insert(const Fingerprint& print) {
    if ((size_ + 1) * 4 > places_.size() * 3) grow();
    Fingerprint& place = find(places_, print);
    if (place.low != 0) return false;
    place = print;
    ++size_;
    return true;
  }

 private:
  static Fingerprint& find(std::vector<Fingerprint>& places, const Fingerprint& print) {
    std::size_t at = print.high & (places.size() - 1);
    while (places[at].low != 0 && !(places[at] == print)) at = (at + 1) & (places.size() - 1);
    return places[at];
  }

  void grow() {
    std::vector<Fingerprint> larger(places_.size() * 2);
    for (const Fingerprint& print : places_) {
      if (print.low != 0) find(larger, print) = print;
    }
    places_.swap(larger);
  }

  std::vector<Fingerprint> places_;
  std::uint64_t size_ = 0;
};

}  // namespace infold::exhaustive
