// SPDX-License-Identifier: Apache-2.0
//
// Builds trees: the shapes that a join server finds, and the shapes that the simulator draws.
#include <algorithm>
#include <utility>

#include "plan/plan.h"

namespace infold::plan {
namespace {

using core::RankRange;

std::vector<RankRange> single_ranks(RankRange ranks) {
  std::vector<RankRange> parts;
  for (std::uint16_t i = 0; i < ranks.count; ++i) {
    parts.push_back({static_cast<std::uint16_t>(ranks.first + i), 1});
  }
  return parts;
}

struct EvenSplit {
  std::uint32_t fan_out;

  bool lone_rank_is_worker() const { return false; }
  std::vector<RankRange> operator()(RankRange ranks, std::uint32_t depth) const {
    if (depth == 1) return single_ranks(ranks);
    const std::uint32_t count = std::min<std::uint32_t>(fan_out, ranks.count);
    std::vector<RankRange> parts;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto from = static_cast<std::uint16_t>(ranks.count * i / count);
      const auto to = static_cast<std::uint16_t>(ranks.count * (i + 1) / count);
      parts.push_back(
          {static_cast<std::uint16_t>(ranks.first + from), static_cast<std::uint16_t>(to - from)});
    }
    return parts;
  }
};

struct UnevenSplit {
  base::Prng& prng;

  bool lone_rank_is_worker() { return prng.chance(0.5); }
  std::vector<RankRange> operator()(RankRange ranks, std::uint32_t depth) {
    if (depth == 1) return single_ranks(ranks);
    std::vector<RankRange> parts;
    std::uint16_t at = ranks.first;
    auto left = ranks.count;
    while (left > 0) {
      const auto count = static_cast<std::uint16_t>(1 + prng.below(left));
      parts.push_back({at, count});
      at = static_cast<std::uint16_t>(at + count);
      left = static_cast<std::uint16_t>(left - count);
    }
    return parts;
  }
};

std::uint16_t add_place(Tree& tree, Place place) {
  tree.aggregators.push_back({.place = place});
  return static_cast<std::uint16_t>(tree.aggregators.size() - 1);
}

// Adds the aggregator of `ranks` and everything below it. Returns its index in the list.
template <typename Split>
std::uint16_t add_split(Tree& tree, RankRange ranks, std::uint32_t depth, Split& split) {
  const std::uint16_t self = add_place(tree, Place::in_path);
  std::vector<Child> children;
  for (const RankRange part : split(ranks, depth)) {
    const bool is_worker = part.count == 1 && (depth == 1 || split.lone_rank_is_worker());
    const std::uint16_t child = is_worker ? 0 : add_split(tree, part, depth - 1, split);
    children.push_back({part, child});
  }
  tree.aggregators[self].children = std::move(children);
  return self;
}

// Adds the hosts and single ranks of `ranks` as children of an aggregator.
void add_hosts(Tree& tree, std::uint16_t parent, std::span<const RankRange> hosts,
               RankRange ranks) {
  for (std::uint32_t rank = ranks.first; contains(ranks, rank);) {
    Child child = {{static_cast<std::uint16_t>(rank), 1}, 0};
    if (const RankRange* const host = core::find_range(hosts, rank)) {
      child = {*host, add_place(tree, Place::host)};
      Aggregator& added = tree.aggregators[child.aggregator];
      added.rank = host->first;
      for (const RankRange one : single_ranks(*host)) added.children.push_back({one, 0});
    }
    tree.aggregators[parent].children.push_back(child);
    rank += child.ranks.count;
  }
}

}  // namespace

Tree flat_tree(std::uint16_t world, std::uint16_t weight) { return even_tree(world, 1, 1, weight); }

Tree tree_of(std::uint16_t world, std::span<const RankRange> hosts,
             std::span<const RankRange> racks) {
  Tree tree;
  const std::uint16_t root = add_place(tree, Place::in_path);
  std::uint32_t rank = 0;
  for (const RankRange rack : racks) {
    const auto before = static_cast<std::uint16_t>(rack.first - rank);
    add_hosts(tree, root, hosts, {static_cast<std::uint16_t>(rank), before});
    const std::uint16_t below = add_place(tree, Place::rack);
    tree.aggregators[root].children.push_back({rack, below});
    add_hosts(tree, below, hosts, rack);
    rank = std::uint32_t{rack.first} + rack.count;
  }
  add_hosts(tree, root, hosts,
            {static_cast<std::uint16_t>(rank), static_cast<std::uint16_t>(world - rank)});
  return tree;
}

Tree even_tree(std::uint16_t world, std::uint32_t depth, std::uint32_t fan_out,
               std::uint16_t weight) {
  Tree tree;
  tree.weight = weight;
  EvenSplit split{fan_out};
  add_split(tree, {0, world}, depth, split);
  return tree;
}

Tree uneven_tree(std::uint16_t world, std::uint32_t depth, base::Prng& prng) {
  Tree tree;
  UnevenSplit split{prng};
  add_split(tree, {0, world}, depth, split);
  return tree;
}

}  // namespace infold::plan
