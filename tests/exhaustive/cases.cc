// SPDX-License-Identifier: Apache-2.0
//
// The cases, from the smallest to the largest. A name has workers x slots x chunks, and then what
// is special about the case.
#include <algorithm>

#include "core/adder/adder.h"
#include "tests/exhaustive/model_case.h"

namespace infold::exhaustive {
namespace {

using core::Collective;
using core::WireFormat;

using Cases = std::vector<Case>;

// Tensors with more chunks than small_slots travel in the bulk stream, which has `slots` slots.
// They are announced in the small stream.
void add_plain(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;

  add({.name = "2x1x3",
       .model = free,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .effort = Effort::seconds});
  add({.name = "2x1x4", .model = free, .slots = 1, .tensors = {{.chunks = 4}}});
  add({.name = "2x2x3", .model = free, .slots = 2, .tensors = {{.chunks = 3}}});
  add({.name = "2x2x6",
       .model = free,
       .slots = 2,
       .tensors = {{.chunks = 6}},
       .effort = Effort::hours});
  add({.name = "3x1x3",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .effort = Effort::seconds});
  add({.name = "3x2x3",
       .model = free,
       .workers = 3,
       .slots = 2,
       .tensors = {{.chunks = 3}},
       .effort = Effort::hours});
}

void add_budgeted(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model counted = Model::budgeted;
  const Budget budget = {.losses = 1, .duplicates = 1, .timeouts = 2};
  add({.name = "2x1x3-budget",
       .model = counted,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .budget = budget,
       .effort = Effort::seconds});
  add({.name = "2x2x3-budget",
       .model = counted,
       .slots = 2,
       .tensors = {{.chunks = 3}},
       .budget = {.losses = 1, .duplicates = 1, .timeouts = 1},
       .effort = Effort::seconds});
  add({.name = "2x2x3-budget-2",
       .model = counted,
       .slots = 2,
       .tensors = {{.chunks = 3}},
       .budget = budget,
       .effort = Effort::hours});
  add({.name = "3x1x3-budget",
       .model = counted,
       .workers = 3,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .budget = budget,
       .effort = Effort::minutes});
  add({.name = "2x1x3-budget-2",
       .model = counted,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .budget = {.losses = 2, .duplicates = 2, .timeouts = 2},
       .effort = Effort::hours});
  add({.name = "tree-2x1x2-budget",
       .model = counted,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .budget = budget,
       .effort = Effort::minutes});
}

void add_collectives(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "2x1x2-two-tensors",
       .model = free,
       .slots = 1,
       .tensors = {{.chunks = 2}, {.chunks = 2}}});
  add({.name = "2x1x2-small-beside-bulk",
       .model = free,
       .slots = 1,
       .small_slots = 1,
       .tensors = {{.chunks = 2}, {.chunks = 1}},
       .effort = Effort::seconds});
  add({.name = "3x1x2-broadcast",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.collective = Collective::broadcast, .chunks = 2, .root = 1}}});
  add({.name = "3x1x2-reduce",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.collective = Collective::reduce, .chunks = 2, .root = 2}}});
  add({.name = "2x1x2-realign",
       .model = free,
       .slots = 1,
       .tensors = {{.format = WireFormat::bfp32, .chunks = 2, .wide_spread = true}}});
  add({.name = "3x1x2-realign",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.format = WireFormat::bfp32, .chunks = 2, .wide_spread = true}},
       .effort = Effort::hours});
  add({.name = "3x1x2-cancel",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .may_cancel = 0,
       .effort = Effort::minutes});
  add({.name = "2x1x3-block-float",
       .model = free,
       .slots = 1,
       .tensors = {{.format = WireFormat::bfp16, .chunks = 3}}});
  // A packet holds contributions to two slots.
  add({.name = "2x2x3-sparse",
       .model = free,
       .slots = 2,
       .tensors = {{.format = WireFormat::bfp16, .chunks = 3, .sparse = true}}});
  add({.name = "2x2x3-quarters",
       .model = free,
       .slots = 2,
       .tensors = {{.format = WireFormat::bfp16, .chunks = 3, .sparse = true, .quarters = true}}});
  add({.name = "2x2x4-sparse",
       .model = free,
       .slots = 2,
       .tensors = {{.chunks = 4, .sparse = true}},
       .effort = Effort::minutes});
  add({.name = "2x1x2-cancel",
       .model = free,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .may_cancel = 0});
}

// Cases with two aggregators, and with one worker or two of each rank.
void add_sites(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "2x1x2-striped", .model = free, .sites = 2, .slots = 1, .tensors = {{.chunks = 4}}});
  add({.name = "2x1x2-drivers",
       .model = free,
       .sites = 2,
       .drivers = 2,
       .slots = 1,
       .tensors = {{.chunks = 4}}});
  add({.name = "2x1x2-drivers-after",
       .model = free,
       .sites = 2,
       .drivers = 2,
       .slots = 1,
       .tensors = {{.chunks = 3}, {.chunks = 2, .after_previous = true}}});
  add({.name = "2x1x2-striped-after",
       .model = free,
       .sites = 2,
       .slots = 1,
       .tensors = {{.chunks = 3}, {.chunks = 2, .after_previous = true}}});
  add({.name = "2x1x2-drivers-cancel",
       .model = free,
       .sites = 2,
       .drivers = 2,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .may_cancel = 0});
  add({.name = "2x1x2-drivers-small-beside-bulk",
       .model = free,
       .sites = 2,
       .drivers = 2,
       .slots = 1,
       .small_slots = 1,
       .tensors = {{.chunks = 3}, {.chunks = 1}},
       .effort = Effort::minutes});
}

// Cases in which the number of a job returns, but not its epoch.
void add_numbers_that_return(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "2x1x3-again",
       .model = free,
       .slots = 1,
       .tensors = {{.chunks = 3}},
       .epoch_before = 2,
       .effort = Effort::seconds});
  add({.name = "2x1x2-again-cancel",
       .model = free,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .epoch_before = 2,
       .may_cancel = 0});
  add({.name = "tree-2x1x2-again",
       .model = free,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .epoch_before = 2});
}

void add_trees(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "tree-2x1x2",
       .model = free,
       .workers = 2,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.chunks = 2}}});
  add({.name = "tree-4x1x2",
       .model = free,
       .workers = 4,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.chunks = 2}},
       .effort = Effort::minutes});
  add({.name = "tree-2x1x2-realign",
       .model = free,
       .workers = 2,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.format = WireFormat::bfp32, .chunks = 2, .wide_spread = true}},
       .effort = Effort::minutes});
}

// Cases in which roots of broadcasts get results without elements.
void add_brief(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "3x1x2-brief",
       .model = free,
       .workers = 3,
       .brief = true,
       .slots = 1,
       .tensors = {{.collective = Collective::broadcast, .chunks = 2, .root = 1}}});
  add({.name = "2x1x3-brief-gather",
       .model = free,
       .brief = true,
       .slots = 1,
       .tensors = {{.collective = Collective::broadcast, .chunks = 2, .root = 0},
                   {.collective = Collective::broadcast, .chunks = 1, .root = 1}}});
  // A leaf of two ranks gets the elements, and the root of the broadcast below it does not.
  add({.name = "tree-4x1x2-brief",
       .model = free,
       .workers = 4,
       .leaves = 2,
       .brief = true,
       .slots = 1,
       .tensors = {{.collective = Collective::broadcast, .chunks = 2, .root = 1}},
       .effort = Effort::minutes});
  add({.name = "tree-2x1x2-brief",
       .model = free,
       .workers = 2,
       .leaves = 2,
       .brief = true,
       .slots = 1,
       .tensors = {{.collective = Collective::broadcast, .chunks = 2, .root = 1}}});
}

// Cases that sum floats as they are.
void add_native(Cases& cases) {
  const auto add = [&cases](Case one) { cases.push_back(std::move(one)); };
  const Model free = Model::monotone;
  add({.name = "3x1x2-native",
       .model = free,
       .workers = 3,
       .slots = 1,
       .tensors = {{.format = WireFormat::native, .chunks = 2, .wide_spread = true}}});
  add({.name = "2x2x3-native-sparse",
       .model = free,
       .slots = 2,
       .tensors = {{.format = WireFormat::native, .chunks = 3, .sparse = true}}});
  // Leaves send their sums as one part, or with four ranks as several parts.
  add({.name = "tree-2x1x2-native",
       .model = free,
       .workers = 2,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.format = WireFormat::native, .chunks = 2, .wide_spread = true}}});
  add({.name = "tree-4x1x2-native",
       .model = free,
       .workers = 4,
       .leaves = 2,
       .slots = 1,
       .tensors = {{.format = WireFormat::native, .chunks = 2, .wide_spread = true}},
       .effort = Effort::minutes});
}

// Whether pipelines that only add can run the case: they take neither blocks nor native nor SPARSE,
// and have no parent.
bool can_only_add(const Case& one) {
  const auto is_plain = [](const Tensor& tensor) {
    return core::adder_record(kChunkElements).formats.has(tensor.format) && !tensor.sparse;
  };
  return one.leaves == 0 && !one.brief &&
         std::all_of(one.tensors.begin(), one.tensors.end(), is_plain);
}

// Adds the same searches over such pipelines.
void add_adders(Cases& cases) {
  for (std::size_t i = 0, count = cases.size(); i < count; ++i) {
    if (!can_only_add(cases[i])) continue;
    Case one = cases[i];
    one.name += "-adder";
    one.only_adds = true;
    cases.push_back(std::move(one));
  }
}

Cases make_cases() {
  Cases cases;
  add_plain(cases);
  add_budgeted(cases);
  add_collectives(cases);
  add_sites(cases);
  add_numbers_that_return(cases);
  add_trees(cases);
  add_brief(cases);
  add_native(cases);
  add_adders(cases);
  // Test the digests of aggregator and worker wherever that takes only seconds.
  for (Case& one : cases)
    one.check_digests = one.effort <= Effort::seconds && one.workers * one.slots < 4;
  return cases;
}

}  // namespace

const char* model_name(Model model) { return model == Model::monotone ? "monotone" : "budgeted"; }

std::span<const Case> all_cases() {
  static const std::vector<Case> cases = make_cases();
  return cases;
}

const Case* find_case(const std::string& name) {
  for (const Case& one : all_cases()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace infold::exhaustive
