// SPDX-License-Identifier: Apache-2.0
//
// Compares joined sets of several ranks with std::set. A loop replaces the network.
#include "sparse/set_join.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::sparse {
namespace {

using Numbers = std::set<std::uint32_t>;

constexpr std::uint32_t kChunk = 96;

// Does what the network does: joins the words of all ranks and delivers them to all. Returns how
// many words there were.
std::uint64_t make(std::vector<SetJoin>& joins, std::uint32_t step, std::uint64_t elements) {
  std::vector<core::TransferRequest> requests;
  for (SetJoin& join : joins) requests.push_back(join.request(step));
  for (std::uint64_t first = 0; first < elements; first += kChunk) {
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, elements - first));
    const core::ChunkRange range = {first, count};
    std::vector<std::uint32_t> all(count);
    for (const core::TransferRequest& request : requests) {
      std::vector<std::uint32_t> own(count);
      request.codec->encode(request.context, request.input, range, nullptr, nullptr,
                            reinterpret_cast<std::byte*>(own.data()));
      for (std::size_t i = 0; i < count; ++i) all[i] |= own[i];
    }
    core::TensorCodec::Received received;
    received.elements = reinterpret_cast<const std::byte*>(all.data());
    for (const core::TransferRequest& request : requests) {
      request.codec->decode(request.context, request.output, range, received);
    }
  }
  return elements;
}

constexpr std::uint32_t word_of(std::size_t rank) { return 0x80000001U << rank; }

struct Outcome {
  std::vector<std::pair<std::uint32_t, bool>> of_rank[3];
  std::uint64_t words = 0;
  std::uint32_t steps = 0;
};

Outcome join(std::vector<SetJoin>& joins, const std::vector<Numbers>& sets, std::uint64_t numbers) {
  Outcome outcome;
  for (std::size_t rank = 0; rank < joins.size(); ++rank) {
    joins[rank].own().clear();
    for (const std::uint32_t number : sets[rank]) joins[rank].own().add(number);
    joins[rank].begin(numbers, {static_cast<std::uint32_t>(rank), 3, word_of(rank)});
  }
  outcome.steps = joins[0].steps();
  std::uint64_t elements = joins[0].request(0).elements;
  for (std::uint32_t step = 0; step < outcome.steps; ++step) {
    EXPECT_EQ(joins[0].request(step).sized_later, step > 0);
    outcome.words += make(joins, step, elements);
    for (std::size_t rank = 0; rank < joins.size() && step == 0; ++rank) {
      const std::span<const std::uint32_t> words = joins[rank].take_words();
      EXPECT_THAT(words, ::testing::ElementsAre(word_of(0), word_of(1), word_of(2)));
    }
    if (step + 1 == outcome.steps) break;
    elements = joins[0].descend();
    for (std::size_t rank = 1; rank < joins.size(); ++rank) {
      EXPECT_EQ(joins[rank].descend(), elements);
    }
  }
  for (std::size_t rank = 0; rank < joins.size(); ++rank) {
    joins[rank].for_each([&](std::uint32_t number, bool is_own) {
      outcome.of_rank[rank].emplace_back(number, is_own);
    });
  }
  return outcome;
}

// Draws runs of neighbouring numbers that lie far apart.
Numbers draw(base::Prng& prng, std::uint64_t numbers, std::size_t count) {
  Numbers set;
  while (set.size() < count) {
    const std::uint64_t first = prng.below(numbers);
    const std::uint64_t run = 1 + prng.below(70);
    for (std::uint64_t i = first; i < std::min(first + run, numbers); ++i) {
      set.insert(static_cast<std::uint32_t>(i));
    }
  }
  return set;
}

TEST(SetJoin, IsTheUnionHoweverFarNumbersReach) {
  base::Prng prng(5);
  std::vector<SetJoin> joins(3);  // used for one set after another
  const std::uint64_t spaces[] = {1,       31,      33,       65536,    65537,
                                  2097152, 2097153, 1U << 27, 1U << 31, SetJoin::kNumbersMax};
  for (const std::uint64_t numbers : spaces) {
    for (const std::size_t count : {0UL, 1UL, 200UL}) {
      std::vector<Numbers> sets;
      for (int rank = 0; rank < 3; ++rank) {
        const bool has_none = count == 0 || prng.chance(0.2);
        sets.push_back(draw(prng, numbers, has_none ? 0 : std::min<std::size_t>(count, numbers)));
      }
      Numbers wanted;
      for (const Numbers& set : sets) wanted.insert(set.begin(), set.end());
      const Outcome outcome = join(joins, sets, numbers);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const auto& got = outcome.of_rank[rank];
        ASSERT_EQ(got.size(), wanted.size()) << numbers;
        std::size_t i = 0;
        for (const std::uint32_t number : wanted) {
          ASSERT_EQ(got[i].first, number);
          ASSERT_EQ(got[i].second, sets[rank].contains(number)) << number;
          ++i;
        }
      }
    }
  }
}

TEST(SetJoin, SendsWhatIsThereAndNotTheSpace) {
  std::vector<SetJoin> joins(3);
  const Outcome outcome =
      join(joins, {{7, 4'000'000'000}, {4'000'000'001}, {}}, SetJoin::kNumbersMax);
  EXPECT_EQ(outcome.steps, 5U);
  EXPECT_EQ(outcome.words, 128U + 3 + 4 * 2);
  const Outcome small = join(joins, {{7}, {8}, {}}, 65536);
  EXPECT_EQ(small.steps, 1U);
  EXPECT_EQ(small.words, 2048U + 3);
  const Outcome longer = join(joins, {{7}, {65536}, {}}, 65537);
  EXPECT_EQ(longer.steps, 2U);
  EXPECT_EQ(longer.words, 65U + 3 + 2);
}

// Ranks that disagree about a tensor's length learn it in the end, but they may get a result first.
TEST(SetJoin, LeavesOutWhatLiesBeyondTheEnd) {
  for (const std::uint64_t numbers : {40UL, 70'000UL}) {
    std::vector<SetJoin> joins(2);
    joins[0].own().add(3);
    joins[0].begin(numbers, {0, 2, 0});
    joins[1].own().add(5);
    joins[1].own().add(50);
    joins[1].own().add(static_cast<std::uint32_t>(numbers) + 1);
    joins[1].own().add(static_cast<std::uint32_t>(numbers) + 500);
    joins[1].begin(numbers + 501, {1, 2, 0});
    const std::uint64_t elements = joins[0].request(0).elements;
    make(joins, 0, elements);
    for (SetJoin& each : joins) each.take_words();
    if (joins[0].steps() > 1) {
      const std::uint64_t words = joins[0].descend();
      EXPECT_EQ(joins[1].descend(), words + 1);
      make(joins, 1, words);
    }
    joins[0].for_each([&](std::uint32_t number, bool) { EXPECT_LT(number, numbers); });
  }
}

// A broken aggregator may send anything, and may also forget what this rank has.
TEST(SetJoin, TakesAnyBitsForAResult) {
  base::Prng prng(3);
  for (int round = 0; round < 50; ++round) {
    SetJoin join;
    const std::uint64_t numbers = 1 + prng.below(10'000'000);
    for (const std::uint32_t number : draw(prng, numbers, 20)) join.own().add(number);
    join.begin(numbers, {});
    std::uint64_t elements = join.request(0).elements;
    for (std::uint32_t step = 0; step < join.steps(); ++step) {
      std::vector<std::uint32_t> all(elements);
      for (std::uint32_t& word : all) {
        if (prng.chance(0.01)) word = static_cast<std::uint32_t>(prng.next());
      }
      core::TensorCodec::Received received;
      received.elements = reinterpret_cast<const std::byte*>(all.data());
      const core::TransferRequest request = join.request(step);
      const core::ChunkRange range = {0, static_cast<std::uint32_t>(elements)};
      if (elements > 0) request.codec->decode(request.context, request.output, range, received);
      if (step == 0) join.take_words();
      if (step + 1 < join.steps()) elements = join.descend();
    }
    join.for_each([&](std::uint32_t number, bool) { ASSERT_LT(number, numbers); });
  }
}

}  // namespace
}  // namespace infold::sparse
