// SPDX-License-Identifier: Apache-2.0
//
// Who sums what in one job: for each site a tree of aggregators over the job's ranks, and what all
// parties have in common. Plain data. The options of every worker and aggregator, real or
// simulated, are made from a plan and nowhere else. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/prng.h"
#include "core/aggregator/aggregator.h"
#include "core/format.h"
#include "core/site_record.h"
#include "core/worker/worker.h"

namespace infold::plan {

// What an aggregator's worker is: one rank, or an aggregator further down the list.
struct Child {
  core::RankRange ranks;
  std::uint16_t aggregator = 0;  // 0: the child is the rank itself

  bool is_rank() const { return aggregator == 0; }
  friend bool operator==(const Child&, const Child&) = default;
};

// What runs an aggregator.
enum class Place : std::uint8_t {
  in_path,  // a switch that packets cross anyway
  rack,     // a switch of some ranks, below another one
  server,   // a host that does nothing else
  rank,     // a rank's process, over the network
  host,     // a rank's process, over memory that the ranks of its host share
};

struct Aggregator {
  Place place = Place::in_path;
  std::optional<std::uint16_t> rank;  // whose process runs it, where that is known
  bool takes_sparse = true;           // contributions that leave out blocks of zeros
  core::FormatSet formats = core::FormatSet::all();
  std::vector<Child> children;

  friend bool operator==(const Aggregator&, const Aggregator&) = default;
};

// A site, and whatever sums below it.
struct Tree {
  std::uint16_t weight = 1;  // its share of the chunks, at most 64
  // What its aggregators call the job.
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::vector<Aggregator> aggregators;  // [0] is the root, and children come after their parents

  friend bool operator==(const Tree&, const Tree&) = default;
};

struct Plan {
  std::uint16_t world = 1;
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // of a chunk
  core::FormatSet formats = core::FormatSet::all();  // that all sites sum
  std::uint16_t small_slots = 64;
  std::uint16_t bulk_slots = 448;
  std::vector<Tree> trees;  // 1 to 64

  std::uint16_t slots() const { return static_cast<std::uint16_t>(small_slots + bulk_slots); }

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Partial sums must fit datagrams, too, where an aggregator has a parent.
core::ChunkLimits limits_of(const Plan& plan);

// Whether a chunk holds a block of every layout of these formats, also as a partial sum where the
// job has a tree.
bool holds_all_layouts(const core::ChunkLimits& limits, core::FormatSet formats);

// Which child of which aggregator somebody is.
struct Position {
  std::uint16_t aggregator = 0;
  std::uint8_t worker = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

// Requires: the rank is in the tree.
Position position_of(const Tree& tree, std::uint16_t rank);
// Nothing for the root.
std::optional<Position> position_of_aggregator(const Tree& tree, std::uint16_t aggregator);

// All but what only the worker's own process knows: its seed, its clock, its limits on memory.
// Requires: every tree has the rank.
core::WorkerOptions worker_options(const Plan& plan, std::uint16_t rank);
core::AggregatorOptions aggregator_options(const Plan& plan, std::size_t tree,
                                           std::uint16_t aggregator);

// One aggregator over all ranks.
Tree flat_tree(std::uint16_t world, std::uint16_t weight = 1);
// Ranks below hosts, hosts below racks, and all that are in neither below the root. Ranges are in
// rising order, and no host is in two racks.
Tree tree_of(std::uint16_t world, std::span<const core::RankRange> hosts,
             std::span<const core::RankRange> racks);
// `depth` levels, in which each aggregator has up to `fan_out` children; in the last one it has
// ranks, as many as there are.
Tree even_tree(std::uint16_t world, std::uint32_t depth, std::uint32_t fan_out,
               std::uint16_t weight = 1);
// At most `depth` levels, in which parts differ in size and height.
Tree uneven_tree(std::uint16_t world, std::uint32_t depth, base::Prng& prng);

void set_takes_sparse(Tree& tree, bool takes);

// The aggregator of these ranks in such a place, or nothing.
std::optional<std::uint16_t> find_aggregator(const Tree& tree, Place place, core::RankRange ranks);

}  // namespace infold::plan
