// SPDX-License-Identifier: Apache-2.0
//
// A Plan says who sums what in one job. For each site, it has a tree of aggregators over the job's
// ranks; it also has the numbers that all parties share. The options of all workers and
// aggregators, real or simulated, are made from a plan and nowhere else. A plan is plain data, and
// its functions are pure.
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

// A worker of an aggregator: either one rank, or an aggregator further down the list.
struct Child {
  core::RankRange ranks;
  std::uint16_t aggregator = 0;  // 0: the child is the rank itself

  bool is_rank() const { return aggregator == 0; }
  friend bool operator==(const Child&, const Child&) = default;
};

// Where an aggregator runs.
enum class Place : std::uint8_t {
  in_path,  // a switch on the packets' path
  rack,     // a switch below another switch, which some ranks join
  server,   // a host of its own
  rank,     // a rank's process, reached over the network
  host,     // a rank's process, reached over memory that the host's ranks share
};

struct Aggregator {
  Place place = Place::in_path;
  std::optional<std::uint16_t> rank;  // the rank whose process runs it, if known
  bool takes_sparse = true;           // accepts contributions without blocks of zeros
  core::FormatSet formats = core::FormatSet::all();
  bool is_big_endian = false;  // whether its packets have big-endian elements
  core::ReductionSet reductions = core::ReductionSet::all();
  std::vector<Child> children;

  friend bool operator==(const Aggregator&, const Aggregator&) = default;
};

// A site and all aggregators below it.
struct Tree {
  std::uint16_t weight = 1;  // decides its share of the chunks; at most 64
  // The job's number and epoch, as this tree's aggregators know them.
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::vector<Aggregator> aggregators;  // [0] is the root, and children come after their parents

  friend bool operator==(const Tree&, const Tree&) = default;
};

struct Plan {
  std::uint16_t world = 1;
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // in one chunk
  core::FormatSet formats = core::FormatSet::all();  // formats that all sites can sum
  // If `formats` lacks native: the float types that all sites can still sum as native. Ignored if a
  // tree has more than one aggregator.
  core::FloatTypes native_types;
  bool brief_results = false;  // all ranks accept a RESULT without elements they sent
  std::uint16_t small_slots = 64;
  std::uint16_t bulk_slots = 448;
  std::vector<Tree> trees;  // 1 to 64

  std::uint16_t slots() const { return static_cast<std::uint16_t>(small_slots + bulk_slots); }

  friend bool operator==(const Plan&, const Plan&) = default;
};

// If an aggregator has a parent, its partial sums must also fit into datagrams.
core::ChunkLimits limits_of(const Plan& plan);

// Whether a chunk holds a block of every layout of these formats. With `limits.tree`, it must also
// hold the block as a partial sum.
bool holds_all_layouts(const core::ChunkLimits& limits, core::FormatSet formats);

// A party's place in a tree: its parent aggregator, and its number among that aggregator's
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

// Sets all options except the ones that only the worker's own process knows, such as its seed, its
// clock and its limits on memory. Requires: every tree has the rank.
core::WorkerOptions worker_options(const Plan& plan, std::uint16_t rank);
core::AggregatorOptions aggregator_options(const Plan& plan, std::size_t tree,
                                           std::uint16_t aggregator);

// Makes a tree of one aggregator over all ranks.
Tree flat_tree(std::uint16_t world, std::uint16_t weight = 1);
// Puts ranks below hosts and hosts below racks. A host without a rack is below the root, as is a
// rank with neither. Requires: ranges are in rising order, and no host is in two racks.
Tree tree_of(std::uint16_t world, std::span<const core::RankRange> hosts,
             std::span<const core::RankRange> racks);
// Makes a tree of `depth` levels. An aggregator has up to `fan_out` children; on the last level, an
// aggregator has all its ranks as children.
Tree even_tree(std::uint16_t world, std::uint32_t depth, std::uint32_t fan_out,
               std::uint16_t weight = 1);
// Makes a tree of at most `depth` levels, whose parts differ in size and height.
Tree uneven_tree(std::uint16_t world, std::uint32_t depth, base::Prng& prng);

void set_takes_sparse(Tree& tree, bool takes);

// Returns the aggregator, other than the root, that has exactly these ranks and runs in such a
// place. Returns nothing if there is none.
std::optional<std::uint16_t> find_aggregator(const Tree& tree, Place place, core::RankRange ranks);

}  // namespace infold::plan
