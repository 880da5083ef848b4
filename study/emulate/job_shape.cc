// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/job_shape.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/stripe.h"
#include "join/job_plan.h"
#include "wire/infold_wire.h"

namespace infold::emulate {
namespace {

using core::RankRange;

// A network numbers its paths in 16 bits (sim::PathId).
constexpr std::size_t kPathsMax = 65'535;

std::uint32_t end_of(RankRange range) { return std::uint32_t{range.first} + range.count; }

std::string text_of(RankRange range) {
  return fmt::format("ranks {} to {}", range.first, end_of(range) - 1);
}

const char* name_of(plan::Place place) {
  switch (place) {
    case plan::Place::in_path: return "in_path";
    case plan::Place::rack: return "rack";
    case plan::Place::server: return "server";
    case plan::Place::rank: return "rank";
    case plan::Place::host: return "host";
  }
  return "unknown";
}

RankRange ranks_of(const plan::Aggregator& aggregator) {
  const RankRange first = aggregator.children.front().ranks;
  const RankRange last = aggregator.children.back().ranks;
  return {first.first, static_cast<std::uint16_t>(end_of(last) - first.first)};
}

bool is_at_rank(const plan::Tree& tree) {
  return tree.aggregators.front().place == plan::Place::rank;
}

std::optional<std::string> find_odd_place(const plan::Tree& tree) {
  const plan::Place root = tree.aggregators.front().place;
  if (root == plan::Place::rack || root == plan::Place::host) {
    return fmt::format(
        "its root has place={}; only a switch (in_path), a server or a rank is emulated there",
        name_of(root));
  }
  if (root != plan::Place::in_path && tree.aggregators.size() > 1) {
    return fmt::format("its root has place={0}; below a {0} only ranks are emulated",
                       name_of(root));
  }
  for (std::size_t i = 0; i < tree.aggregators.size(); ++i) {
    const plan::Aggregator& each = tree.aggregators[i];
    if (!each.is_big_endian && each.reductions == core::ReductionSet::all()) continue;
    return fmt::format(
        "aggregator {} has big_endian or reductions; emulated switches have the bytes and the "
        "reductions of user space, so leave both out",
        i);
  }
  for (std::size_t i = 1; i < tree.aggregators.size(); ++i) {
    const plan::Place place = tree.aggregators[i].place;
    if (place == plan::Place::rack || place == plan::Place::host) continue;
    return fmt::format(
        "aggregator {} has place={}; below the root only racks' switches (rack) and hosts (host) "
        "are emulated",
        i, name_of(place));
  }
  return std::nullopt;
}

// Takes from the first tree what all trees of a job have in common, and collects the weights of the
// switches.
JobShape shape_of(const plan::Plan& plan) {
  JobShape shape;
  const plan::Tree& tree = plan.trees.front();
  const plan::Aggregator& root = tree.aggregators.front();
  shape.on_servers = root.place == plan::Place::server;
  shape.ranks_sum = is_at_rank(plan.trees.back());
  shape.record.formats = root.formats;
  shape.record.takes_sparse = root.takes_sparse;
  shape.record.elements_max = plan.elements_max;
  shape.record.native_types = plan.native_types;
  for (std::size_t i = 1; i < tree.aggregators.size(); ++i) {
    const plan::Aggregator& each = tree.aggregators[i];
    (each.place == plan::Place::rack ? shape.racks : shape.hosts).push_back(ranks_of(each));
  }
  const auto is_before = [](RankRange a, RankRange b) { return a.first < b.first; };
  std::sort(shape.racks.begin(), shape.racks.end(), is_before);
  std::sort(shape.hosts.begin(), shape.hosts.end(), is_before);
  shape.weights.clear();
  for (const plan::Tree& each : plan.trees) {
    if (!is_at_rank(each)) shape.weights.push_back(each.weight);
  }
  return shape;
}

// A file may leave out the numbers of jobs, and which rank sums: on a host it is the first rank,
// and sites at ranks are in the order of ranks. For ranks it does not matter whether a site is a
// switch or a server.
plan::Tree comparable(plan::Tree tree) {
  plan::Aggregator& root = tree.aggregators.front();
  if (root.place == plan::Place::server) root.place = plan::Place::in_path;
  root.rank.reset();
  tree.job = 0;
  tree.epoch = 0;
  for (plan::Aggregator& each : tree.aggregators) {
    if (each.place == plan::Place::host && !each.rank) each.rank = ranks_of(each).first;
  }
  return tree;
}

// Returns the tree that the join server would make for ranks with this shape.
plan::Tree tree_of(const JobShape& shape, std::uint32_t ranks, std::uint16_t weight,
                   bool at_rank = false) {
  join::JobTerms terms;
  terms.world = ranks;
  terms.racks = shape.racks;
  for (const RankRange host : shape.hosts) terms.groups.push_back({host, {}});
  return join::tree_of(
      terms, {.address = {}, .weight = weight, .at_rank = at_rank, .record = shape.record});
}

// Finds a switch with too many workers. It ignores hosts, because a host may turn out not to share
// memory, and then each of its ranks counts (J-015).
std::optional<std::string> find_crowd(const JobShape& shape, std::uint32_t ranks) {
  const plan::Tree tree = tree_of({.racks = shape.racks, .record = shape.record}, ranks, 1);
  for (const plan::Aggregator& each : tree.aggregators) {
    if (each.children.size() <= INFOLD_WORKERS_MAX) continue;
    return fmt::format("a switch would have {} workers, and takes {}; choose more racks",
                       each.children.size(), static_cast<int>(INFOLD_WORKERS_MAX));
  }
  return std::nullopt;
}

std::size_t site_count(const JobShape& shape, std::uint32_t ranks) {
  return shape.weights.size() + (shape.ranks_sum ? ranks : 0);
}

// Returns whether the tree is the one that ranks form for the site with this number, at a switch or
// at a rank.
bool is_formed(const JobShape& shape, const plan::Plan& plan, std::size_t number) {
  const plan::Tree& tree = plan.trees[number];
  const plan::Aggregator& root = tree.aggregators.front();
  const bool at_rank = number >= shape.weights.size();
  const bool is_server = root.place == plan::Place::server;
  if (is_server != (shape.on_servers && !at_rank)) return false;
  if (at_rank && root.rank && *root.rank != number - shape.weights.size()) return false;
  return comparable(tree) == tree_of(shape, plan.world, tree.weight, at_rank);
}

constexpr const char* kChangeThePlan = "write the job's value into the plan";

template <typename Number>
PlanDifference numbers(const char* name, Number wanted, Number found) {
  return {fmt::format("{}={}, and the plan has {}", name, found, wanted), kChangeThePlan};
}

// A real rank chooses the weight of its own site. The plan gives all other weights.
PlanDifference weights(const plan::Plan& wanted, const plan::Plan& plan, std::size_t tree) {
  const std::uint16_t weight = wanted.trees[tree].weight;
  PlanDifference difference = {fmt::format("weight={} in tree {}, and the plan has {}",
                                           plan.trees[tree].weight, tree, weight),
                               kChangeThePlan};
  if (!is_at_rank(wanted.trees[tree])) return difference;
  const auto switches = std::find_if(wanted.trees.begin(), wanted.trees.end(), is_at_rank);
  difference.remedy = fmt::format(
      "join rank {} with --worker-weight {} (INFOLD_WORKER_WEIGHT in PyTorch), or {}",
      tree - static_cast<std::size_t>(switches - wanted.trees.begin()), weight, kChangeThePlan);
  return difference;
}

std::optional<std::string> find_difference(const plan::Aggregator& wanted,
                                           const plan::Aggregator& found) {
  if (wanted.place != found.place) {
    return fmt::format("place={}, and the plan has {}", name_of(found.place),
                       name_of(wanted.place));
  }
  if (wanted.children != found.children) return "other children than the plan";
  if (wanted.formats != found.formats) return "other wire formats than the plan";
  if (wanted != found) return "another rank or other sparse layouts than the plan";
  return std::nullopt;
}

// Requires: the trees have equal weights.
std::optional<PlanDifference> find_difference(const plan::Tree& wanted, const plan::Tree& found,
                                              std::size_t number) {
  if (wanted.aggregators.size() != found.aggregators.size()) {
    return PlanDifference{fmt::format("{} aggregators in tree {}, and the plan has {}",
                                      found.aggregators.size(), number, wanted.aggregators.size()),
                          kChangeThePlan};
  }
  for (std::size_t i = 0; i < found.aggregators.size(); ++i) {
    const auto difference = find_difference(wanted.aggregators[i], found.aggregators[i]);
    if (!difference) continue;
    return PlanDifference{fmt::format("at aggregator {} of tree {}: {}", i, number, *difference),
                          kChangeThePlan};
  }
  return std::nullopt;
}

}  // namespace

std::vector<RankRange> even_ranges(std::uint32_t ranks, std::uint32_t count) {
  std::vector<RankRange> ranges;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t first = ranks * i / count;
    ranges.push_back({static_cast<std::uint16_t>(first),
                      static_cast<std::uint16_t>(ranks * (i + 1) / count - first)});
  }
  return ranges;
}

std::optional<std::string> find_fault(const JobShape& shape, std::uint32_t ranks) {
  if (join::is_one_rack(shape.racks, ranks)) {
    return "one rack that has all ranks is the root itself; leave the rack out";
  }
  const std::size_t sites = site_count(shape, ranks);
  if (sites > core::Stripe::kSitesMax) {
    return fmt::format("{} sites, of which each rank brings one, and a job has at most {}", sites,
                       core::Stripe::kSitesMax);
  }
  if (shape.ranks_sum && !shape.hosts.empty()) {
    return "ranks that sum share memory only if all ranks are on one host; leave hosts out";
  }
  if (shape.weights.empty() && !shape.racks.empty()) {
    return "the parent of a rack's switch must be a switch, and only ranks sum; let a switch also "
           "sum, "
           "too";
  }
  const std::size_t ends = ranks + shape.racks.size() + shape.hosts.size();
  const std::size_t paths = 2 * sites * ends;
  if (paths > kPathsMax) {
    return fmt::format(
        "{} paths between ranks, racks, hosts and switches, and at most {} can be "
        "emulated",
        paths, kPathsMax);
  }
  for (const RankRange host : shape.hosts) {
    const RankRange* const first = core::find_range(shape.racks, host.first);
    const RankRange* const last = core::find_range(shape.racks, end_of(host) - 1);
    if (first == last) continue;
    return fmt::format(
        "{} share a host, and are in two racks; choose so many hosts that each is in one rack",
        text_of(host));
  }
  return find_crowd(shape, ranks);
}

tl::expected<JobShape, std::string> shape_of(const plan::Plan& plan, std::uint32_t real) {
  for (std::size_t i = 0; i < plan.trees.size(); ++i) {
    if (const auto odd = find_odd_place(plan.trees[i])) {
      return tl::unexpected(fmt::format("tree {}: {}", i, *odd));
    }
  }
  JobShape shape = shape_of(plan);
  if (const auto fault = find_fault(shape, plan.world)) return tl::unexpected(*fault);
  if (plan.formats != shape.record.formats) {
    return tl::unexpected(std::string("the plan's formats are not those of its switches"));
  }
  const std::size_t switches = shape.weights.size();
  if (shape.ranks_sum && plan.trees.size() != switches + plan.world) {
    return tl::unexpected(fmt::format("{} of {} ranks sum; either all do, or none",
                                      plan.trees.size() - switches, plan.world));
  }
  for (std::size_t i = 0; i < plan.trees.size(); ++i) {
    if (is_formed(shape, plan, i)) continue;
    return tl::unexpected(
        fmt::format("tree {} is none that ranks form when they join: racks below the root, hosts "
                    "below racks, and all trees alike but for their weights; sites at ranks come "
                    "last, in the order of ranks",
                    i));
  }
  for (const RankRange host : shape.hosts) {
    if (host.count < 2) {
      return tl::unexpected(
          fmt::format("rank {} is alone on its host; leave the host out", host.first));
    }
    if (host.first >= real) continue;
    return tl::unexpected(fmt::format(
        "{} share a host, and rank {} is real, which shares no memory with emulated ranks",
        text_of(host), host.first));
  }
  shape.wanted = plan;
  return shape;
}

std::optional<PlanDifference> find_difference(const plan::Plan& wanted, const plan::Plan& plan) {
  if (wanted.world != plan.world) return numbers("world", wanted.world, plan.world);
  if (wanted.datagram_bytes_max != plan.datagram_bytes_max) {
    return numbers("datagram_bytes_max", wanted.datagram_bytes_max, plan.datagram_bytes_max);
  }
  if (wanted.elements_max != plan.elements_max) {
    return numbers("elements_max", wanted.elements_max, plan.elements_max);
  }
  if (wanted.small_slots != plan.small_slots) {
    return numbers("small_slots", wanted.small_slots, plan.small_slots);
  }
  if (wanted.bulk_slots != plan.bulk_slots) {
    return numbers("bulk_slots", wanted.bulk_slots, plan.bulk_slots);
  }
  if (wanted.formats != plan.formats || wanted.native_types != plan.native_types) {
    return PlanDifference{"other wire formats than the plan", kChangeThePlan};
  }
  if (wanted.trees.size() != plan.trees.size()) {
    return numbers("trees", wanted.trees.size(), plan.trees.size());
  }
  for (std::size_t i = 0; i < plan.trees.size(); ++i) {
    if (wanted.trees[i].weight != plan.trees[i].weight) return weights(wanted, plan, i);
    const auto difference =
        find_difference(comparable(wanted.trees[i]), comparable(plan.trees[i]), i);
    if (difference) return difference;
  }
  return std::nullopt;
}

RealSwitches switches_of(const JobShape& shape, std::uint32_t real) {
  RealSwitches switches;
  for (std::uint32_t rank = 0; rank < real; ++rank) {
    const RankRange* const rack = core::find_range(shape.racks, rank);
    const auto own = rack == nullptr ? std::nullopt : std::optional(*rack);
    const auto found = std::find(switches.racks.begin(), switches.racks.end(), own);
    switches.of_rank.push_back(static_cast<std::size_t>(found - switches.racks.begin()));
    if (found == switches.racks.end()) switches.racks.push_back(own);
  }
  return switches;
}

const RankRange* host_of(const JobShape& shape, std::uint32_t real, std::uint32_t rank) {
  const RankRange* const host = core::find_range(shape.hosts, rank);
  return host != nullptr && host->first >= real ? host : nullptr;
}

}  // namespace infold::emulate
