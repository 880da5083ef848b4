// SPDX-License-Identifier: Apache-2.0
//
// Columns, shares and sentences.
#include "cli/plan_table.h"

#include <algorithm>
#include <cmath>

#include "plan/verdict.h"

namespace infold::cli {
namespace {

constexpr std::string_view kKinds[] = {"ring", "switch", "hosts", "workers", "mixed"};

double ring_time_s(const std::vector<plan::Placement>& placements) {
  return std::find_if(
             placements.begin(), placements.end(),
             [](const plan::Placement& each) { return each.kind == plan::PlacementKind::ring; })
      ->time_s;
}

nlohmann::ordered_json to_json(const plan::Placement& placement, double ring_s) {
  nlohmann::ordered_json json;
  json["placement"] = placement.name;
  json["kind"] = kKinds[static_cast<std::size_t>(placement.kind)];
  json["time_ms"] = placement.time_s * 1e3;
  json["speed_against_ring"] = ring_s / placement.time_s;
  json["busiest_link"] = placement.busiest_link;
  json["busiest_link_bytes"] = static_cast<std::uint64_t>(placement.busiest_bytes + 0.5);
  json["hops"] = placement.hops;
  json["sites"] = nlohmann::ordered_json::array();
  for (const plan::SiteShare& site : placement.sites) {
    json["sites"].push_back({{"site", site.name}, {"share", site.share}, {"weight", site.weight}});
  }
  return json;
}

// "host:25G 21.1 % (weight 4), 8 workers 9.9 % (weight 1)", equal sites together.
std::string shares_text(const plan::Placement& placement) {
  struct Group {
    std::string name;
    std::size_t count = 0;
    plan::SiteShare site;
  };
  std::vector<Group> groups;
  for (const plan::SiteShare& site : placement.sites) {
    const std::string name = site.name.starts_with("worker ") ? "worker" : site.name;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.name == name && group.site.weight == site.weight;
    });
    if (same == groups.end()) {
      groups.push_back({name, 1, site});
    } else {
      ++same->count;
    }
  }
  std::string text;
  for (const Group& group : groups) {
    if (!text.empty()) text += ", ";
    const bool workers = group.name == "worker" && group.count > 1;
    text += group.count == 1 ? group.name
            : workers        ? fmt::format("{} workers", group.count)
                             : fmt::format("{} x {}", group.count, group.name);
    text += fmt::format(" {:.1f} %{} (weight {})", group.site.share * 100,
                        group.count > 1 ? " each" : "", group.site.weight);
  }
  return text;
}

// Sites that all take the same need no line.
bool has_unequal_shares(const plan::Placement& placement) {
  return std::any_of(
      placement.sites.begin(), placement.sites.end(),
      [&](const plan::SiteShare& site) { return site.weight != placement.sites.front().weight; });
}

}  // namespace

void print_question(Output& output, const plan::Question& question, const FormatNames& names) {
  output.text("{} workers with links of {}, {} of {} as {}, MTU {}, round trip {}\n\n",
              question.worker_rates.size(), plan::rate_text(question.worker_rates.front()),
              plan::bytes_text(static_cast<double>(question.tensor_bytes)), names.dtype, names.wire,
              question.framing.mtu, plan::time_text(question.rtt_s));
  output.object({{"workers", question.worker_rates.size()},
                 {"link_bits_per_second", question.worker_rates.front()},
                 {"bytes", question.tensor_bytes},
                 {"dtype", names.dtype},
                 {"wire", names.wire},
                 {"mtu", question.framing.mtu},
                 {"frame_bytes", question.framing.frame_bytes},
                 {"rtt_us", std::round(question.rtt_s * 1e9) / 1e3}});
}

void print_placements(Output& output, const std::vector<plan::Placement>& placements) {
  const double ring_s = ring_time_s(placements);
  std::size_t width = 9;
  for (const plan::Placement& each : placements) width = std::max(width, each.name.size());
  output.text("{:<{}}  {:>8}  {:>7}  {:>4}  {:>13}  {}\n", "placement", width, "time", "vs ring",
              "hops", "busiest link", "which is");
  for (const plan::Placement& each : placements) {
    output.text("{:<{}}  {:>8}  {:>6.2f}x  {:>4}  {:>13}  {}\n", each.name, width,
                plan::time_text(each.time_s), ring_s / each.time_s, each.hops,
                plan::bytes_text(each.busiest_bytes), each.busiest_link);
    output.object(to_json(each, ring_s));
  }
  output.text("\n");
  bool any = false;
  for (const plan::Placement& each : placements) {
    if (!has_unequal_shares(each)) continue;
    output.text("{}: {}\n", each.name, shares_text(each));
    any = true;
  }
  if (any) output.text("\n");
}

void print_verdict(Output& output, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) output.text("{}\n", sentence);
  output.object({{"verdict", sentences}});
}

}  // namespace infold::cli
