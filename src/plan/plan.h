// SPDX-License-Identifier: Apache-2.0
//
// A Plan says who sums what in one job. It has a tree of aggregators over the job's ranks for each
// site, and the numbers that all parties share. Plain data. Only a plan makes the options of
// workers and aggregators, real or simulated. Pure.
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

// An aggregator's worker: one rank, or an aggregator further down the list.
struct Child {
  core::RankRange ranks;
  std::uint16_t aggregator = 0;  // 0: the child is the rank itself

  bool is_rank() const { return aggregator == 0; }
  friend bool operator==(const Child&, const Child&) = default;
};

// Where an aggregator runs.
enum class Place : std::uint8_t {
  in_path,  // a switch on the packets' path
  rack,     // a switch that some ranks join, below another switch
  server,   // a host of its own
  rank,     // a rank's process, over the network
  host,     // a rank's process, over memory that the ranks of its host share
};

struct Aggregator {
  Place place = Place::in_path;
  std::optional<std::uint16_t> rank;  // the rank whose process runs it, if known
  bool takes_sparse = true;           // takes contributions without blocks of zeros
  core::FormatSet formats = core::FormatSet::all();
  bool is_big_endian = false;  // elements of its packets are
  core::ReductionSet reductions = core::ReductionSet::all();
  std::vector<Child> children;

  friend bool operator==(const Aggregator&, const Aggregator&) = default;
};

// A site and all aggregators below it.
struct Tree {
  std::uint16_t weight = 1;  // its share of the chunks, at most 64
  // The job's number and epoch at this tree's aggregators.
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::vector<Aggregator> aggregators;  // [0] is the root, and children come after their parents

  friend bool operator==(const Tree&, const Tree&) = default;
};

struct Plan {
  std::uint16_t world = 1;
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // in one chunk
  core::FormatSet formats = core::FormatSet::all();  // all sites sum these
  // Where these lack native: types that all sites sum as native, unless the plan has a tree.
  core::FloatTypes native_types;
  bool brief_results = false;  // all ranks take a RESULT without what they have sent
  std::uint16_t small_slots = 64;
  std::uint16_t bulk_slots = 448;
  std::vector<Tree> trees;  // 1 to 64

  std::uint16_t slots() const { return static_cast<std::uint16_t>(small_slots + bulk_slots); }

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Where an aggregator has a parent, partial sums must fit datagrams, too.
core::ChunkLimits limits_of(const Plan& plan);

// Returns true if a chunk holds a block of every layout of these formats. Where the job has a tree,
// the chunk must hold it as a partial sum, too.
bool holds_all_layouts(const core::ChunkLimits& limits, core::FormatSet formats);

// A party's place in a tree: the aggregator that it is a child of, and its number among the
// children.
struct Position {
  std::uint16_t aggregator = 0;
  std::uint8_t worker = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

// Requires: the rank is in the tree.
Position position_of(const Tree& tree, std::uint16_t rank);
// Returns nothing for the root.
std::optional<Position> position_of_aggregator(const Tree& tree, std::uint16_t aggregator);

// Sets all options except those that only the worker's own process knows: its seed, its clock, its
// limits on memory. Requires: every tree has the rank.
core::WorkerOptions worker_options(const Plan& plan, std::uint16_t rank);
core::AggregatorOptions aggregator_options(const Plan& plan, std::size_t tree,
                                           std::uint16_t aggregator);

// A tree of one aggregator over all ranks.
Tree flat_tree(std::uint16_t world, std::uint16_t weight = 1);
// Puts ranks below hosts and hosts below racks. A host without a rack is below the root, as is a
// rank with neither. Requires: ranges are in rising order, and no host is in two racks.
Tree tree_of(std::uint16_t world, std::span<const core::RankRange> hosts,
             std::span<const core::RankRange> racks);
// A tree of `depth` levels. An aggregator has up to `fan_out` children; one of the last level has
// all its ranks as children.
Tree even_tree(std::uint16_t world, std::uint32_t depth, std::uint32_t fan_out,
               std::uint16_t weight = 1);
// A tree of at most `depth` levels, whose parts differ in size and height.
Tree uneven_tree(std::uint16_t world, std::uint32_t depth, base::Prng& prng);

void set_takes_sparse(Tree& tree, bool takes);

// Returns the aggregator of these ranks in such a place, or nothing.
std::optional<std::uint16_t> find_aggregator(const Tree& tree, Place place, core::RankRange ranks);

}  // namespace infold::plan
