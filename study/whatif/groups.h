// SPDX-License-Identifier: Apache-2.0
//
// The groups of a run: which ranks make calls together. Each group is a separate job on the
// network. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::whatif {

struct Group {
  std::string name;
  std::vector<std::uint16_t> ranks;  // ranks of the run, in the group's order

  std::uint16_t size() const { return static_cast<std::uint16_t>(ranks.size()); }
};
using Groups = std::vector<Group>;

// Returns a group of all ranks, which makes all calls.
Groups group_of_all(std::uint16_t ranks);

// Returns the number of the group with this name. A lone group has any name.
std::uint16_t number_of(const Groups& groups, const std::string& name);

// What the traces of a run say about groups, for runs of any number of ranks.
class RecordedGroups {
 public:
  // `traces` has one trace per rank, by rank, or a single one. An error names a group whose ranks
  // nobody knows. Requires: trace::find_fault_of_set() finds nothing if there are several.
  static tl::expected<RecordedGroups, std::string> make(const std::vector<trace::Trace>& traces,
                                                        std::uint64_t ranks);

  // An error says why these groups are not known for this many ranks.
  tl::expected<Groups, std::string> for_ranks(std::uint16_t ranks) const;
  // Returns how many of `ranks` belong to the group.
  std::uint64_t size_of(const std::string& name, std::uint64_t ranks) const;
  std::size_t count() const { return groups_.size(); }

 private:
  Groups groups_;  // by name; a group without ranks has all
  std::uint64_t ranks_ = 0;
};

}  // namespace infold::whatif
