// SPDX-License-Identifier: Apache-2.0
#include "cli/emulate/shape_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/line/whole_file.h"
#include "core/stripe.h"
#include "plan/plan_text.h"

namespace infold::cli {
namespace {

// Several times the size of a plan with 1024 ranks and 64 trees.
constexpr std::size_t kPlanBytesMax = 4 << 20;

}  // namespace

void ShapeOptions::declare(Options& options) {
  options.whole<std::uint32_t>("--racks", racks_, {2, 256},
                               "Racks of nearly equal size, each with an emulated switch of its "
                               "own below the root; rank 0 is in the first one; not with --place "
                               "workers");
  options.whole<std::uint32_t>("--hosts", hosts_, {2, 256},
                               "Hosts of nearly equal size, whose ranks share memory and one link; "
                               "a host with a real rank does not share; only with --place "
                               "switches");
  options.whole<std::uint32_t>("--switches", switches_,
                               {1, static_cast<std::uint32_t>(core::Stripe::kSitesMax)},
                               "Switches at the root, which divide the chunks as the threads of "
                               "infold switch do; 1 if it is "
                               "left out");
  options.choice("--place", sites_, {"switches", "workers", "mixed"},
                 "What sums: emulated switches, the ranks themselves, or both. Real ranks that sum "
                 "join with --place mixed in either case, with the weight that all ranks have");
  options.whole<std::uint16_t>(
      "--switch-weight", switch_weight_, {1, core::Stripe::kWeightMax},
      "Weight of each switch, also of a real one, beside --worker-weight of the real ranks, for "
      "--place mixed; 1 if it is left out");
  options.path("--plan", plan_,
               "File with the plan that each job must have, in place of racks, hosts, switches and "
               "sites");
  for (const char* const other :
       {"--racks", "--hosts", "--switches", "--place", "--switch-weight"}) {
    options.exclude("--plan", other);
  }
}

tl::expected<emulate::JobShape, std::string> ShapeOptions::shape(std::uint32_t ranks,
                                                                 std::uint32_t real) const {
  if (!plan_.empty()) return from_plan(ranks, real);
  const std::pair<const char*, std::uint32_t> counts[] = {{"--racks", racks_.value_or(1)},
                                                          {"--hosts", hosts_.value_or(1)}};
  for (const auto& [name, count] : counts) {
    if (count > ranks) {
      return tl::unexpected(fmt::format("{} {}: must not be above --ranks {}", name, count, ranks));
    }
  }
  emulate::JobShape shape;
  if (racks_) shape.racks = emulate::even_ranges(ranks, *racks_);
  shape.ranks_sum = sites_ != "switches";
  shape.weights.assign(sites_ == "workers" ? 0 : switches_.value_or(1), switch_weight_.value_or(1));
  if (sites_ == "workers" && switches_) {
    return tl::unexpected(std::string("--switches needs --place mixed: with workers, none sums"));
  }
  if (sites_ != "mixed" && switch_weight_) {
    return tl::unexpected(fmt::format(
        "--switch-weight needs --place mixed: with {}, no switch has another share than the rest",
        sites_));
  }
  if (const auto fault = emulate::find_fault(shape, ranks)) {
    if (shape.weights.empty() && racks_) {
      return tl::unexpected(fmt::format("--racks {}: {}", *racks_, *fault));
    }
    if (shape.ranks_sum && switches_ && ranks < core::Stripe::kSitesMax) {
      return tl::unexpected(fmt::format("--switches {}: {}", *switches_, *fault));
    }
    return tl::unexpected(
        fmt::format("--ranks {}: {} ({})", ranks, *fault, shape.ranks_sum ? "--place" : "--racks"));
  }
  if (hosts_) shape.hosts = emulate::even_ranges(ranks, *hosts_);
  if (const auto fault = emulate::find_fault(shape, ranks)) {
    return tl::unexpected(fmt::format("--hosts {}: {}", hosts_.value_or(0), *fault));
  }
  return shape;
}

tl::expected<emulate::JobShape, std::string> ShapeOptions::from_plan(std::uint32_t ranks,
                                                                     std::uint32_t real) const {
  const auto text = read_file(plan_, kPlanBytesMax);
  if (!text) return tl::unexpected(fmt::format("--plan {}: {}", plan_, text.error()));
  const auto plan = plan::read_plan(*text);
  if (!plan) return tl::unexpected(fmt::format("--plan {}: {}", plan_, plan.error()));
  if (plan->world != ranks) {
    return tl::unexpected(fmt::format("--plan {}: it is for {} ranks, and --ranks says {}", plan_,
                                      plan->world, ranks));
  }
  auto shape = emulate::shape_of(*plan, real);
  if (!shape) return tl::unexpected(fmt::format("--plan {}: {}", plan_, shape.error()));
  return shape;
}

std::string shape_text(const emulate::JobShape& shape, std::uint32_t real) {
  std::vector<std::string> parts;
  if (shape.ranks_sum) {
    parts.push_back(shape.weights.empty() ? "each rank sums a share, and no switch does"
                                          : "each rank sums a share, and a switch another");
  }
  if (!shape.racks.empty()) {
    parts.push_back(fmt::format("racks: {}", shape.racks.size()));
  }
  if (!shape.hosts.empty()) {
    const auto shared = std::count_if(
        shape.hosts.begin(), shape.hosts.end(),
        [real](core::RankRange host) { return host.first >= real && host.count > 1; });
    parts.push_back(fmt::format("hosts: {}, of which {} share memory", shape.hosts.size(), shared));
  }
  if (shape.weights.size() > 1) {
    parts.push_back(fmt::format("{} at the root: {}", shape.on_servers ? "servers" : "switches",
                                shape.weights.size()));
  } else if (shape.on_servers) {
    parts.push_back("a server with one link sums");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace infold::cli
