// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/calls/layout.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/stripe.h"
#include "join/job_terms.h"
#include "plan/plan_text.h"
#include "wire/infold_wire.h"

namespace infold::whatif {
namespace {

// The slots that one of infold's ranks asks for.
constexpr join::Slots kAsked = {64, 448};
constexpr std::uint32_t kChildrenMax = INFOLD_WORKERS_MAX;  // the most children of one aggregator
// The limit for all groups together. Each member may have a packet under way in each slot.
constexpr std::size_t kMembersMax = 2048;
// As many packets as in a network with one job (study/sim/nodes/wiring.cc).
constexpr std::size_t kPacketsPerSlot = 8;
constexpr std::size_t kPacketsMin = 2'048;
constexpr std::size_t kPacketsMax = std::size_t{1} << 18;

bool is_by_racks(const Setting& setting) { return setting.place == Place::racks; }

// The round trip is measured between two hosts. With a switch in the path, a rank's packet turns
// round halfway.
base::Duration link_delay(const Setting& setting) {
  const bool in_path = setting.place == Place::in_path || is_by_racks(setting);
  return setting.round_trip / (in_path ? 4 : 2);
}

sim::LinkOptions link_of(const Setting& setting, double bits_per_second) {
  return {.bits_per_second = static_cast<std::int64_t>(bits_per_second),
          .delay = link_delay(setting),
          .queue_bytes_max = sim::port_queue_bytes(bits_per_second),
          .overhead_bytes = std::int64_t{predict::udp_headers_bytes(setting.framing)} +
                            setting.framing.frame_bytes};
}

// Returns the cluster's shape, without the numbers of machines.
sim::ClusterOptions shape_of(const Setting& setting) {
  sim::ClusterOptions cluster;
  cluster.racks = is_by_racks(setting) ? setting.parts : std::uint16_t{1};
  cluster.hosts_per_rack =
      static_cast<std::uint16_t>((setting.ranks + cluster.racks - 1) / cluster.racks);
  return cluster;
}

std::vector<sim::HostIndex> hosts_of(const Setting& setting, const Group& group) {
  const std::vector<sim::HostIndex> all = hosts_of(setting);
  std::vector<sim::HostIndex> hosts;
  for (const std::uint16_t rank : group.ranks) hosts.push_back(all[rank]);
  return hosts;
}

// Makes a tree for each host or rank that sums its share.
std::vector<plan::Tree> shares_of(const Setting& setting, std::uint16_t members) {
  const bool at_ranks = setting.place == Place::workers;
  const std::uint16_t count = at_ranks ? members : setting.parts;
  std::vector<plan::Tree> trees(count, plan::flat_tree(members));
  for (std::uint16_t i = 0; i < count; ++i) {
    plan::Aggregator& root = trees[i].aggregators.front();
    root.place = at_ranks ? plan::Place::rank : plan::Place::server;
    if (at_ranks) root.rank = i;
  }
  return trees;
}

std::vector<plan::Tree> trees_of(const Setting& setting, const Group& group) {
  const bool is_shared = setting.place == Place::hosts || setting.place == Place::workers;
  if (is_shared) return shares_of(setting, group.size());
  return {sim::tree_on(shape_of(setting), hosts_of(setting, group))};
}

// The slots that are left at each switch or host.
class FreeSlots {
 public:
  explicit FreeSlots(const Setting& setting)
      : setting_(setting), free_(shape_of(setting).racks + 1U, setting.slots) {}

  // Returns nothing if too few slots are left.
  std::optional<join::Slots> take(const plan::Plan& plan, const Group& group) {
    const std::vector<std::size_t> switches = switches_of(plan, group);
    std::uint32_t least = setting_.slots;
    for (const std::size_t each : switches) least = std::min(least, free_[each]);
    const join::Slots slots = join::granted(kAsked, least, setting_.slots);
    if (slots.small + slots.bulk > least) return std::nullopt;
    for (const std::size_t each : switches) free_[each] -= slots.small + slots.bulk;
    return slots;
  }

 private:
  // Returns the switches of the racks by their numbers, with the spine after them. All hosts are
  // alike, so one stands for all. A rank that sums has separate slots for each job.
  std::vector<std::size_t> switches_of(const plan::Plan& plan, const Group& group) const {
    if (setting_.place == Place::workers) return {};
    if (!is_by_racks(setting_)) return {0};
    const std::uint16_t per_rack = shape_of(setting_).hosts_per_rack;
    const std::vector<sim::HostIndex> hosts = hosts_of(setting_, group);
    const bool is_in_one = hosts.front() / per_rack == hosts.back() / per_rack;
    std::vector<std::size_t> switches = {is_in_one ? std::size_t{hosts.front()} / per_rack
                                                   : std::size_t{setting_.parts}};
    for (const plan::Aggregator& each : plan.trees.front().aggregators) {
      if (&each == &plan.trees.front().aggregators.front()) continue;
      switches.push_back(std::size_t{hosts[each.children.front().ranks.first]} / per_rack);
    }
    return switches;
  }

  const Setting& setting_;
  std::vector<std::uint32_t> free_;
};

std::string called(const Group& group, const Setting& setting) {
  if (group.size() == setting.ranks) return "";
  return fmt::format("group '{}': ", trace::printable(group.name));
}

// The members of a group in one rack must be neighbours in the group, as the product demands.
bool has_racks_in_order(const Setting& setting, const Group& group) {
  const std::uint16_t per_rack = shape_of(setting).hosts_per_rack;
  std::set<int> left;
  int rack = -1;
  for (const sim::HostIndex host : hosts_of(setting, group)) {
    if (host / per_rack == rack) continue;
    if (rack >= 0) left.insert(rack);
    rack = host / per_rack;
    if (left.contains(rack)) return false;
  }
  return true;
}

std::optional<std::string> find_obstacle(const Setting& setting, const Group& group) {
  const std::uint16_t members = group.size();
  if (setting.place == Place::workers && members > core::Stripe::kSitesMax) {
    return fmt::format("{} ranks cannot all sum: a job has {} sites at most", members,
                       core::Stripe::kSitesMax);
  }
  const bool is_flat = setting.place == Place::in_path || setting.place == Place::hosts;
  if (is_flat && members > kChildrenMax) {
    return fmt::format("one switch or host has {} ranks at most; choose racks:N, such as racks:{}",
                       kChildrenMax, (setting.ranks + 31) / 32);
  }
  if (is_by_racks(setting) && !has_racks_in_order(setting, group)) {
    return std::string("its ranks are not in the order of the racks; choose another place");
  }
  return std::nullopt;
}

// Checks what the numbers of the simulated network can hold.
std::optional<std::string> find_excess(const Setting& setting,
                                       const std::vector<plan::Plan>& plans) {
  std::size_t members = 0;
  std::size_t paths = 0;
  for (const plan::Plan& plan : plans) {
    if (plan.world == 1) continue;
    members += plan.world;
    for (const plan::Tree& tree : plan.trees) {
      paths += 2 * (plan.world + tree.aggregators.size() - 1);
    }
  }
  if (members > kMembersMax) {
    return fmt::format("the groups have {} members together, and a simulation has memory for {}",
                       members, kMembersMax);
  }
  const bool fits =
      paths < sim::kPathsMax && sim::node_count(cluster_of(setting, plans)) <= sim::kNodesMax;
  if (fits) return std::nullopt;
  return std::string("the groups have too many machines for one simulation; choose another place");
}

}  // namespace

sim::LinkOptions link_of(const Setting& setting) {
  return link_of(setting, setting.bits_per_second);
}

std::vector<sim::HostIndex> hosts_of(const Setting& setting) {
  const sim::ClusterOptions shape = shape_of(setting);
  std::vector<sim::HostIndex> hosts;
  for (std::uint32_t rack = 0; rack < shape.racks; ++rack) {
    const std::uint32_t first = setting.ranks * rack / shape.racks;
    const std::uint32_t end = setting.ranks * (rack + 1) / shape.racks;
    for (std::uint32_t rank = first; rank < end; ++rank) {
      hosts.push_back(static_cast<sim::HostIndex>(rack * shape.hosts_per_rack + rank - first));
    }
  }
  return hosts;
}

tl::expected<std::vector<plan::Plan>, std::string> plans_of(const Setting& setting,
                                                            const Groups& groups) {
  if (is_by_racks(setting) && (setting.parts < 2 || setting.parts > setting.ranks / 2)) {
    return tl::unexpected(fmt::format("{} racks cannot hold two or more of {} ranks each",
                                      setting.parts, setting.ranks));
  }
  FreeSlots free(setting);
  std::vector<plan::Plan> plans;
  for (const Group& group : groups) {
    if (const auto why = find_obstacle(setting, group)) {
      return tl::unexpected(called(group, setting) + *why);
    }
    plan::Plan& plan = plans.emplace_back();
    plan.world = group.size();
    plan.datagram_bytes_max = setting.framing.mtu - predict::udp_headers_bytes(setting.framing);
    if (group.size() == 1) continue;
    plan.brief_results = true;  // ranks of this version accept them
    plan.trees = trees_of(setting, group);
    for (plan::Tree& tree : plan.trees) {
      tree.job = static_cast<std::uint16_t>(plans.size());
      tree.epoch = 1;
    }
    const auto slots = free.take(plan, group);
    if (!slots) {
      return tl::unexpected(fmt::format(
          "group '{}' is one of {}, and finds no slots at its switch; give it more with --slots",
          trace::printable(group.name), groups.size()));
    }
    plan.small_slots = static_cast<std::uint16_t>(slots->small);
    plan.bulk_slots = static_cast<std::uint16_t>(slots->bulk);
    if (const auto fault = plan::find_fault(plan)) {
      return tl::unexpected(called(group, setting) + *fault);
    }
  }
  if (const auto excess = find_excess(setting, plans)) return tl::unexpected(*excess);
  return plans;
}

sim::ClusterOptions cluster_of(const Setting& setting, const std::vector<plan::Plan>& plans) {
  sim::ClusterOptions cluster = shape_of(setting);
  cluster.host_link = link_of(setting);
  cluster.rack_link =
      link_of(setting, setting.rack_bits_per_second.value_or(setting.bits_per_second));
  cluster.servers = setting.place == Place::hosts ? setting.parts : std::uint16_t{0};
  cluster.server_link = cluster.host_link;
  cluster.server_link.delay = {};
  cluster.loss = setting.loss;
  cluster.seed = setting.seed;
  cluster.datagram_bytes_max = plans.front().datagram_bytes_max;
  cluster.endpoint_count_max = 0;
  std::size_t packets = 0;
  std::size_t slots = 0;  // for all members at one aggregator
  for (const plan::Plan& plan : plans) {
    if (plan.world == 1) continue;
    cluster.endpoint_count_max += plan.world;
    for (const plan::Tree& tree : plan.trees) {
      cluster.endpoint_count_max += static_cast<std::uint32_t>(tree.aggregators.size());
    }
    slots += std::size_t{plan.slots()} * plan.world;
    packets += kPacketsPerSlot * plan.slots() * plan.world * plan.trees.size();
  }
  cluster.packet_count_max =
      static_cast<std::uint32_t>(std::clamp(packets, kPacketsMin, std::max(kPacketsMax, slots)));
  return cluster;
}

}  // namespace infold::whatif
