// SPDX-License-Identifier: Apache-2.0
//
// The groups of a run: which ranks make calls together. Each is a job of its own on the network.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::whatif {

struct Group {
  std::string name;
  std::vector<std::uint16_t> ranks;  // of the run, in the group's order

  std::uint16_t size() const { return static_cast<std::uint16_t>(ranks.size()); }
};
using Groups = std::vector<Group>;

// A group of all ranks, which makes all calls.
Groups group_of_all(std::uint16_t ranks);

// The number of the group with this name. One group alone has any name.
std::uint16_t number_of(const Groups& groups, const std::string& name);

// What the traces of a run say of groups, for a run of any number of ranks.
class RecordedGroups {
 public:
  // `traces` are those of all ranks, by rank, or a lone one. The error names a group whose ranks
  // nobody knows. Requires: trace::find_fault_of_set() finds nothing in several.
  static tl::expected<RecordedGroups, std::string> make(const std::vector<trace::Trace>& traces,
                                                        std::uint64_t ranks);

  // The error says why these groups are not known for so many ranks.
  tl::expected<Groups, std::string> for_ranks(std::uint16_t ranks) const;
  // How many of `ranks` the group has.
  std::uint64_t size_of(const std::string& name, std::uint64_t ranks) const;
  std::size_t count() const { return groups_.size(); }

 private:
  Groups groups_;  // by name; without ranks: it has all
  std::uint64_t ranks_ = 0;
};

}  // namespace infold::whatif
