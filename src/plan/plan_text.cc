// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/packet/packet.h"
#include "core/stripe.h"

namespace infold::plan {
namespace {

constexpr const char* kPlaces[] = {"in_path", "rack", "server", "rank", "host"};
// No real network has more levels, and recursive functions can walk this many without exhausting
// the stack.
constexpr std::uint32_t kLevelsMax = 16;
// A packet has 15 bits for the number of its slot.
constexpr int kSlotsMax = (1 << 15) - 1;
// The longest datagram of UDP over IPv4.
constexpr std::uint32_t kDatagramBytesMax = 65'507;

// What is wrong with the text or the plan, or nothing.
using Wrong = std::optional<std::string>;

// Removes the text up to a separator from the front of `text` and returns it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

template <typename Number>
Wrong read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stopped == end) return std::nullopt;
  return fmt::format("'{}' must be a number from 0 to {}", text,
                     std::numeric_limits<Number>::max());
}

// Reads names separated by commas.
template <typename Value, std::uint32_t kKnown>
Wrong read_names(std::string_view text, const char* name_of(Value), const char* what,
                 base::EnumSet<Value, kKnown>& set) {
  set = {};
  while (!text.empty()) {
    const std::string_view name = take(text, ',');
    const base::EnumSet<Value, kKnown> before = set;
    for (std::uint32_t code = 0; kKnown >> code != 0; ++code) {
      const auto value = static_cast<Value>(code);
      if (name == name_of(value)) set = set | base::EnumSet<Value, kKnown>::of(value);
    }
    if (set == before) return fmt::format("'{}' is an unknown or repeated {}", name, what);
  }
  return std::nullopt;
}

Wrong read_formats(std::string_view text, core::FormatSet& formats) {
  if (text != "all") return read_names(text, core::format_name, "wire format", formats);
  formats = core::FormatSet::all();
  return std::nullopt;
}

std::string write_formats(core::FormatSet formats) {
  return formats == core::FormatSet::all() ? "all" : core::names_of(formats, ",");
}

// Reads "3", or "0-2:1".
Wrong read_child(std::string_view text, Child& child) {
  std::string_view ranks = take(text, ':');
  std::uint16_t last = 0;
  if (!text.empty()) {
    if (Wrong wrong = read_number(text, child.aggregator)) return wrong;
    if (child.aggregator == 0) return "aggregator 0 is the root, which cannot be a child";
  }
  const std::string_view first = take(ranks, '-');
  if (Wrong wrong = read_number(first, child.ranks.first)) return wrong;
  if (Wrong wrong = read_number(ranks.empty() ? first : ranks, last)) return wrong;
  if (last < child.ranks.first) return fmt::format("ranks {} to {}", child.ranks.first, last);
  child.ranks.count = static_cast<std::uint16_t>(last - child.ranks.first + 1);
  return std::nullopt;
}

std::string write_child(const Child& child) {
  if (child.is_rank()) return std::to_string(child.ranks.first);
  const int last = child.ranks.first + child.ranks.count - 1;
  return child.ranks.count == 1
             ? fmt::format("{}:{}", last, child.aggregator)
             : fmt::format("{}-{}:{}", child.ranks.first, last, child.aggregator);
}

Wrong read_children(std::string_view text, std::vector<Child>& children) {
  while (!text.empty()) {
    if (Wrong wrong = read_child(take(text, ','), children.emplace_back())) return wrong;
  }
  return std::nullopt;
}

Wrong read_place(std::string_view text, Place& place) {
  for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
    if (text != kPlaces[i]) continue;
    place = static_cast<Place>(i);
    return std::nullopt;
  }
  return fmt::format("'{}' must be in_path, rack, server, rank or host", text);
}

Wrong read_yes(std::string_view text, bool& value) {
  value = text == "yes";
  if (value || text == "no") return std::nullopt;
  return fmt::format("'{}' must be yes or no", text);
}

Wrong set(Plan& plan, std::string_view key, std::string_view value) {
  if (key == "world") return read_number(value, plan.world);
  if (key == "datagram_bytes_max") return read_number(value, plan.datagram_bytes_max);
  if (key == "elements_max") return read_number(value, plan.elements_max);
  if (key == "small_slots") return read_number(value, plan.small_slots);
  if (key == "bulk_slots") return read_number(value, plan.bulk_slots);
  if (key == "formats") return read_formats(value, plan.formats);
  if (key == "native_types") {
    return read_names(value, data_type_name, "type of floats", plan.native_types);
  }
  if (key == "brief_results") return read_yes(value, plan.brief_results);
  return fmt::format("a plan has no '{}'", key);
}

Wrong set(Tree& tree, std::string_view key, std::string_view value) {
  if (key == "weight") return read_number(value, tree.weight);
  if (key == "job") return read_number(value, tree.job);
  if (key == "epoch") return read_number(value, tree.epoch);
  return fmt::format("a tree has no '{}'", key);
}

Wrong set(Aggregator& aggregator, std::string_view key, std::string_view value) {
  if (key == "place") return read_place(value, aggregator.place);
  if (key == "rank") return read_number(value, aggregator.rank.emplace());
  if (key == "sparse") return read_yes(value, aggregator.takes_sparse);
  if (key == "formats") return read_formats(value, aggregator.formats);
  if (key == "big_endian") return read_yes(value, aggregator.is_big_endian);
  if (key == "reductions") {
    return read_names(value, reduction_name, "reduction", aggregator.reductions);
  }
  if (key == "children") return read_children(value, aggregator.children);
  return fmt::format("an aggregator has no '{}'", key);
}

template <typename Target>
Wrong set_all(Target& target, std::string_view words) {
  std::vector<std::string_view> keys;
  while (!words.empty()) {
    std::string_view value = take(words, ' ');
    if (value.empty()) continue;
    const std::string_view key = take(value, '=');
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      return fmt::format("a second '{}'; write one", key);
    }
    keys.push_back(key);
    if (Wrong wrong = set(target, key, value)) return wrong;
  }
  return std::nullopt;
}

// Reads one line, whose comment has been cut off.
Wrong read_line(std::string_view line, bool& has_plan, Plan& plan) {
  const std::string_view what = take(line, ' ');
  if (what == "plan") {
    if (std::exchange(has_plan, true)) return "a second plan; write one";
    return set_all(plan, line);
  }
  if (!has_plan) return "the first line must begin with 'plan'";
  if (what == "tree") return set_all(plan.trees.emplace_back(), line);
  if (what != "aggregator") return fmt::format("'{}' must be plan, tree or aggregator", what);
  if (plan.trees.empty()) return "an aggregator before the first tree";
  return set_all(plan.trees.back().aggregators.emplace_back(), line);
}

// An aggregator's ranks and level in its tree.
struct Branch {
  core::RankRange ranks;
  std::uint32_t level = 0;  // 0: no parent found yet
};

// Together, the children must have exactly the ranks of the branch, in order and without gaps.
// Aggregators among the children must come later in the list.
Wrong find_fault_of_children(const Tree& tree, std::size_t aggregator,
                             std::vector<Branch>& branches) {
  const Branch branch = branches[aggregator];
  const std::vector<Child>& children = tree.aggregators[aggregator].children;
  if (children.size() > INFOLD_WORKERS_MAX) {
    return fmt::format("{} children, where at most {} are possible", children.size(),
                       static_cast<int>(INFOLD_WORKERS_MAX));
  }
  std::uint32_t next = branch.ranks.first;
  for (const Child& child : children) {
    if (child.ranks.first != next || child.ranks.count == 0) {
      return fmt::format("child with rank {}, where rank {} must be next", child.ranks.first, next);
    }
    next += child.ranks.count;
    if (child.is_rank() && child.ranks.count == 1) continue;
    if (child.is_rank())
      return fmt::format("several ranks from {} on need an aggregator", child.ranks.first);
    if (child.aggregator <= aggregator || child.aggregator >= branches.size()) {
      return fmt::format("child {} must come after its parent; there are {} aggregators",
                         child.aggregator, branches.size());
    }
    Branch& below = branches[child.aggregator];
    if (below.level != 0)
      return fmt::format("child {} has another parent already", child.aggregator);
    below = {child.ranks, branch.level + 1};
    if (below.level > kLevelsMax) return fmt::format("more than {} levels", kLevelsMax);
  }
  const std::uint32_t end = std::uint32_t{branch.ranks.first} + branch.ranks.count;
  if (next == end) return std::nullopt;
  return fmt::format("children's ranks end before {}, where they must end before {}", next, end);
}

Wrong find_fault_of_tree(const Tree& tree, std::uint16_t world) {
  if (tree.weight < 1 || tree.weight > core::Stripe::kWeightMax) {
    return fmt::format("weight {}, where 1 to {} are possible", tree.weight,
                       static_cast<int>(core::Stripe::kWeightMax));
  }
  if (tree.aggregators.empty()) return "it has no aggregator";
  std::vector<Branch> branches(tree.aggregators.size());
  branches.front() = {{0, world}, 1};
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const Aggregator& each = tree.aggregators[i];
    Wrong wrong;
    if (branches[i].level == 0) wrong = "it has no parent";
    if (each.formats.is_empty()) wrong = "formats must name a wire format";
    if (each.reductions.is_empty()) wrong = "reductions must name a reduction";
    if (each.rank && *each.rank >= world)
      wrong = fmt::format("rank={} is not below world={}", *each.rank, world);
    if (!wrong) wrong = find_fault_of_children(tree, i, branches);
    if (wrong) return fmt::format("aggregator {}: {}", i, *wrong);
  }
  return std::nullopt;
}

}  // namespace

std::string write_plan(const Plan& plan) {
  std::string text = fmt::format(
      "plan world={} datagram_bytes_max={} elements_max={} small_slots={} bulk_slots={} "
      "formats={}",
      plan.world, plan.datagram_bytes_max, plan.elements_max, plan.small_slots, plan.bulk_slots,
      write_formats(plan.formats));
  if (!plan.native_types.is_empty()) {
    text += fmt::format(" native_types={}", core::names_of(plan.native_types, ","));
  }
  if (plan.brief_results) text += " brief_results=yes";
  text += '\n';
  for (const Tree& tree : plan.trees) {
    text += fmt::format("tree weight={} job={} epoch={}\n", tree.weight, tree.job, tree.epoch);
    for (const Aggregator& each : tree.aggregators) {
      text += fmt::format("aggregator place={}", kPlaces[static_cast<std::size_t>(each.place)]);
      if (each.rank) text += fmt::format(" rank={}", *each.rank);
      text += fmt::format(" sparse={} formats={}", each.takes_sparse ? "yes" : "no",
                          write_formats(each.formats));
      if (each.is_big_endian) text += " big_endian=yes";
      if (each.reductions != core::ReductionSet::all()) {
        text += fmt::format(" reductions={}", core::names_of(each.reductions, ","));
      }
      text += " children=";
      for (std::size_t i = 0; i < each.children.size(); ++i) {
        if (i > 0) text += ',';
        text += write_child(each.children[i]);
      }
      text += '\n';
    }
  }
  return text;
}

tl::expected<Plan, std::string> read_plan(std::string_view text) {
  Plan plan;
  plan.world = 0;
  bool has_plan = false;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = take(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = take(line, '#');
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(begin);
    if (line.empty()) continue;
    if (Wrong wrong = read_line(line, has_plan, plan)) {
      return tl::unexpected(fmt::format("line {}: {}", number, *wrong));
    }
  }
  if (!has_plan) return tl::unexpected(std::string("no line begins with 'plan'"));
  if (plan.world == 0) {
    return tl::unexpected(
        std::string("the line that begins with 'plan' needs world=N, the number of ranks"));
  }
  if (Wrong wrong = find_fault(plan)) return tl::unexpected(std::move(*wrong));
  return plan;
}

Wrong find_fault(const Plan& plan) {
  if (plan.world == 0) return "world must be 1 or more";
  const int slots = plan.small_slots + plan.bulk_slots;
  if (slots < 1 || slots > kSlotsMax)
    return fmt::format("{} slots, where 1 to {} are possible", slots, kSlotsMax);
  if (plan.trees.empty() || plan.trees.size() > core::Stripe::kSitesMax) {
    return fmt::format("{} trees, where 1 to {} are possible", plan.trees.size(),
                       static_cast<int>(core::Stripe::kSitesMax));
  }
  for (std::size_t i = 0; i < plan.trees.size(); ++i) {
    if (Wrong wrong = find_fault_of_tree(plan.trees[i], plan.world)) {
      return fmt::format("tree {}: {}", i, *wrong);
    }
  }
  if (plan.formats.is_empty()) return "formats must name a wire format";
  if (plan.datagram_bytes_max > kDatagramBytesMax || plan.elements_max > INFOLD_ELEMENTS_MAX ||
      !holds_all_layouts(limits_of(plan), plan.formats)) {
    return fmt::format(
        "datagram_bytes_max={} and elements_max={} hold no block of each format, or are too large",
        plan.datagram_bytes_max, plan.elements_max);
  }
  return std::nullopt;
}

}  // namespace infold::plan
