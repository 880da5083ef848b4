// SPDX-License-Identifier: Apache-2.0
//
// Prints columns, shares and sentences.
#include "cli/plan/plan_table.h"

#include <algorithm>
#include <cmath>

#include "study/predict/advice.h"

namespace infold::cli {
namespace {

// If more than this share of the cores is busy, the links wait for processors.
constexpr double kProcessorBound = 0.9;

constexpr std::string_view kKinds[] = {"ring", "switch", "hosts", "workers", "mixed"};

double ring_time_s(const std::vector<predict::Placement>& placements) {
  return std::find_if(placements.begin(), placements.end(),
                      [](const predict::Placement& each) {
                        return each.kind == predict::PlacementKind::ring;
                      })
      ->time_s;
}

void add_measured(nlohmann::ordered_json& json, const predict::Placement& placement,
                  const PlacementMeasured& measured) {
  if (measured.seconds) {
    json["measured_ms"] = *measured.seconds * 1e3;
    json["measured_over_predicted"] = *measured.seconds / placement.time_s;
    json["processors_busy"] = measured.busy;
  } else if (!measured.error.empty()) {
    json["error"] = measured.error;
  } else {
    json["not_measured"] = measured.not_measured;
  }
}

std::string_view limit_of(const predict::Placement& placement) {
  if (placement.is_window_bound()) return "window";
  return placement.is_processor_bound() ? "processor" : "link";
}

nlohmann::ordered_json to_json(const predict::Placement& placement, double ring_s) {
  nlohmann::ordered_json json;
  json["placement"] = placement.name;
  json["kind"] = kKinds[static_cast<std::size_t>(placement.kind)];
  json["time_ms"] = placement.time_s * 1e3;
  json["speed_against_ring"] = ring_s / placement.time_s;
  json["busiest_link"] = placement.busiest_link;
  json["busiest_link_bytes"] = static_cast<std::uint64_t>(placement.busiest_bytes + 0.5);
  json["links_ms"] = placement.links_s * 1e3;
  json["processors_ms"] = placement.processors_s * 1e3;
  json["limit"] = limit_of(placement);
  json["hops"] = placement.hops;
  json["sites"] = nlohmann::ordered_json::array();
  for (const predict::SiteShare& site : placement.sites) {
    json["sites"].push_back({{"site", site.name}, {"share", site.share}, {"weight", site.weight}});
  }
  return json;
}

// Returns the columns "measured" and "ratio".
std::string measured_text(const predict::Placement& placement, const PlacementMeasured& measured) {
  if (!measured.seconds)
    return fmt::format("  {:>8}  {:>5}", measured.error.empty() ? "-" : "failed", "-");
  return fmt::format("  {:>8}  {:>5.2f}", predict::time_text(*measured.seconds),
                     *measured.seconds / placement.time_s);
}

// Returns "host:25G 21.1 % (weight 4), 8 workers 9.9 % (weight 1)", with equal sites in one group.
std::string shares_text(const predict::Placement& placement) {
  struct Group {
    std::string name;
    std::size_t count = 0;
    predict::SiteShare site;
  };
  std::vector<Group> groups;
  for (const predict::SiteShare& site : placement.sites) {
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

// A placement needs no line of shares if all its sites take the same share.
bool has_unequal_shares(const predict::Placement& placement) {
  return std::any_of(placement.sites.begin(), placement.sites.end(),
                     [&](const predict::SiteShare& site) {
                       return site.weight != placement.sites.front().weight;
                     });
}

}  // namespace

void print_question(Output& output, const predict::Question& question, const FormatNames& names) {
  const double rate = question.worker_rates.front();
  const bool has_limit = rate < predict::kUnlimited;
  output.text("{} workers with links {}, {} of {} as {}, MTU {}, round trip {}\n\n",
              question.worker_rates.size(),
              has_limit ? "of " + predict::rate_text(rate) : "without a limit",
              predict::bytes_text(static_cast<double>(question.tensor_bytes)), names.dtype,
              names.wire, question.framing.mtu, predict::time_text(question.rtt_s));
  output.object({{"workers", question.worker_rates.size()},
                 {"link_bits_per_second", has_limit ? nlohmann::ordered_json(rate) : nullptr},
                 {"bytes", question.tensor_bytes},
                 {"dtype", names.dtype},
                 {"wire", names.wire},
                 {"mtu", question.framing.mtu},
                 {"frame_bytes", question.framing.frame_bytes},
                 {"rtt_us", std::round(question.rtt_s * 1e9) / 1e3},
                 {"threads", question.host_threads},
                 {"shared_processors", question.shared_processors}});
}

void print_placements(Output& output, const std::vector<predict::Placement>& placements,
                      const std::vector<PlacementMeasured>& measured) {
  const double ring_s = ring_time_s(placements);
  const bool verified = !measured.empty();
  const int time_width = verified ? 9 : 8;
  std::size_t width = 9;
  for (const predict::Placement& each : placements) width = std::max(width, each.name.size());
  output.text("{:<{}}  {:>{}}{}  {:>7}  {:>4}  {:>9}  {:>13}  {}\n", "placement", width,
              verified ? "predicted" : "time", time_width, verified ? "  measured  ratio" : "",
              "vs ring", "hops", "limit", "busiest link", "which is");
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const predict::Placement& each = placements[i];
    output.text("{:<{}}  {:>{}}{}  {:>6.2f}x  {:>4}  {:>9}  {:>13}  {}\n", each.name, width,
                predict::time_text(each.time_s), time_width,
                verified ? measured_text(each, measured[i]) : "", ring_s / each.time_s, each.hops,
                limit_of(each), predict::bytes_text(each.busiest_bytes), each.busiest_link);
    nlohmann::ordered_json json = to_json(each, ring_s);
    if (verified) add_measured(json, each, measured[i]);
    output.object(json);
  }
  output.text("\n");
  bool any = false;
  for (const predict::Placement& each : placements) {
    if (!has_unequal_shares(each)) continue;
    output.text("{}: {}\n", each.name, shares_text(each));
    any = true;
  }
  if (any) output.text("\n");
}

std::vector<std::string> measured_advice(const std::vector<predict::Placement>& placements,
                                         const std::vector<PlacementMeasured>& measured) {
  std::vector<std::string> sentences;
  std::optional<std::size_t> predicted_first, first;
  double least = 0, most = 0, busiest = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].seconds) continue;
    const double ratio = *measured[i].seconds / placements[i].time_s;
    ++count;
    if (!predicted_first) {
      predicted_first = i;
      least = most = ratio;
    }
    if (!first || *measured[i].seconds < *measured[*first].seconds) first = i;
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    busiest = std::max(busiest, measured[i].busy);
  }
  if (count == 1) {
    sentences.push_back(fmt::format("Measured: {} takes {:.2f} times as long as predicted.",
                                    placements[*first].name, least));
  } else if (first) {
    const std::string order =
        *first == *predicted_first
            ? "as predicted"
            : fmt::format("where {} was predicted", placements[*predicted_first].name);
    sentences.push_back(
        fmt::format("Measured: {} is fastest, {}; times are {:.2f} to {:.2f} of the predictions.",
                    placements[*first].name, order, least, most));
  }
  if (busiest > kProcessorBound) {
    sentences.push_back(
        fmt::format("The processors were busy to {:.0f} %, so processors and not links decided "
                    "some of these times.",
                    busiest * 100));
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].error.empty()) {
      sentences.push_back(
          fmt::format("Measuring {} failed: {}", placements[i].name, measured[i].error));
    } else if (!measured[i].seconds) {
      sentences.push_back(
          fmt::format("{} is predicted only: {}.", placements[i].name, measured[i].not_measured));
    }
  }
  return sentences;
}

void print_advice(Output& output, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) output.text("{}\n", sentence);
  output.object({{"advice", sentences}});
}

}  // namespace infold::cli
