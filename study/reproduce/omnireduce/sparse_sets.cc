// SPDX-License-Identifier: Apache-2.0
#include "study/reproduce/omnireduce/sparse_sets.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/prng.h"
#include "sparse/set_join.h"

namespace infold::reproduce {
namespace {

constexpr std::uint32_t kElementsOfBit = 32;

// Chooses the first `count` numbers of a shuffle.
std::vector<bool> choose(std::uint64_t count, std::uint64_t of, base::Prng& prng) {
  std::vector<std::uint32_t> order(of);
  std::iota(order.begin(), order.end(), 0U);
  std::vector<bool> chosen(of);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + prng.below(of - i)]);
    chosen[order[i]] = true;
  }
  return chosen;
}

// If all ranks have the whole union, the join is as long as the part of one rank.
std::vector<std::uint64_t> join_words_of(const std::vector<bool>& joined, std::uint32_t bits,
                                         std::uint16_t workers) {
  sparse::SetJoin join;
  for (std::size_t block = 0; block < joined.size(); ++block) {
    for (std::uint32_t bit = 0; joined[block] && bit < bits; ++bit) {
      join.own().add(static_cast<std::uint32_t>(block * bits + bit));
    }
  }
  join.begin(joined.size() * bits, {.rank = 0, .world = workers, .word = 0});
  std::vector<std::uint64_t> words = {join.request(0).elements};
  join.take_words();
  while (words.size() < join.steps()) words.push_back(join.descend());
  return words;
}

}  // namespace

SparseSets draw_sets(const SparseDraw& draw) {
  CHECK_THAT(draw.block_elements % kElementsOfBit, ==, 0U);
  const std::uint32_t bits = draw.block_elements / kElementsOfBit;
  SparseSets sets;
  sets.own_blocks =
      static_cast<std::uint64_t>(std::llround(draw.density * static_cast<double>(draw.blocks)));
  base::Prng prng(base::mix64(draw.seed));
  std::vector<std::vector<bool>> ranks;
  std::vector<bool> joined(draw.blocks);
  for (std::uint16_t rank = 0; rank < draw.workers; ++rank) {
    ranks.push_back(choose(sets.own_blocks, draw.blocks, prng));
    for (std::size_t i = 0; i < joined.size(); ++i) joined[i] = joined[i] || ranks.back()[i];
  }
  sets.union_blocks = static_cast<std::uint64_t>(std::count(joined.begin(), joined.end(), true));
  for (const std::vector<bool>& rank : ranks) {
    std::vector<std::uint32_t> own(sparse::words_for(sets.union_blocks * bits));
    std::uint64_t place = 0;
    for (std::size_t block = 0; block < joined.size(); ++block) {
      if (!joined[block]) continue;
      for (std::uint32_t bit = 0; bit < bits; ++bit, ++place) {
        if (rank[block]) own[place / 32] |= std::uint32_t{1} << place % 32;
      }
    }
    sets.own.push_back(std::move(own));
  }
  sets.join_words = join_words_of(joined, bits, draw.workers);
  return sets;
}

}  // namespace infold::reproduce
