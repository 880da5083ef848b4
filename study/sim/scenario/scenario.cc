// SPDX-License-Identifier: Apache-2.0
//
// Describes scenarios in words.
#include "study/sim/scenario/scenario.h"

#include <algorithm>

#include <fmt/format.h>

namespace infold::sim {
namespace {

std::string describe_faults(const FaultOptions& faults) {
  return fmt::format(
      "loss {:.3g} % + bursts {:.3g} % of {:.1f}, duplicates {:.3g} %, held back {:.3g} % up to "
      "{} us, damaged {:.3g} %, jitter {} us",
      faults.loss * 100, faults.burst_start * 100, faults.burst_packets, faults.duplicate * 100,
      faults.reorder * 100, faults.reorder_max.ns / 1000, faults.corrupt * 100,
      faults.jitter_max.ns / 1000);
}

const char* collective_name(core::Collective collective) {
  constexpr const char* kNames[] = {"all_reduce", "reduce", "broadcast", "barrier"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string describe_compression(const CompressionPlan& compression) {
  std::string text = " compressed by " + compression.method;
  for (const auto& [name, value] : compression.settings) text += fmt::format(" {}={}", name, value);
  if (!compression.sides.empty()) text += fmt::format(" {}", fmt::join(compression.sides, "x"));
  return text;
}

}  // namespace

const char* incident_name(Incident::Kind kind) {
  switch (kind) {
    case Incident::Kind::none: return "none";
    case Incident::Kind::wrong_size: return "wrong size";
    case Incident::Kind::wrong_type: return "wrong type";
    case Incident::Kind::wrong_operation: return "wrong operation";
    case Incident::Kind::wrong_root: return "wrong root";
    case Incident::Kind::never_calls: return "never calls";
    case Incident::Kind::cancels: return "cancels";
    case Incident::Kind::leaves: return "leaves";
    case Incident::Kind::count_: break;
  }
  return "unknown";
}

plan::Plan plan_of(const Scenario& scenario) {
  plan::Plan plan = scenario.plan;
  for (plan::Tree& tree : plan.trees) {
    tree.job = scenario.job;
    tree.epoch = scenario.epoch;
  }
  return plan;
}

base::Instant quiet_from(const Scenario& scenario) {
  base::Instant quiet;
  for (const FaultOptions* faults : {&scenario.up, &scenario.down}) {
    if (faults->any() && faults->until < base::Instant::never())
      quiet = std::max(quiet, faults->until);
  }
  for (const PausePlan& pause : scenario.pauses) quiet = std::max(quiet, pause.until);
  base::Duration gaps;
  for (const CallPlan& call : scenario.calls) gaps = gaps + call.gap;
  base::Instant called = base::Instant{} + gaps;
  for (const base::Duration start : scenario.starts) {
    called = std::max(called, base::Instant{} + start + gaps);
  }
  return std::max(quiet, called);
}

std::string describe(const Scenario& scenario) {
  std::string text = fmt::format("scenario {} seed {}: {} workers, {} sites", scenario.name,
                                 scenario.seed, scenario.plan.world, scenario.plan.trees.size());
  for (const plan::Tree& site : scenario.plan.trees) {
    text += fmt::format(" [weight {}, {} aggregators]", site.weight, site.aggregators.size());
  }
  text += fmt::format(
      "\n  datagrams up to {} bytes, at most {} elements; slots {} + {}; {} Mbit/s, {} ns one way, "
      "queue {} bytes{}\n",
      scenario.plan.datagram_bytes_max, scenario.plan.elements_max, scenario.plan.small_slots,
      scenario.plan.bulk_slots, scenario.link.bits_per_second / 1'000'000, scenario.link.delay.ns,
      scenario.link.queue_bytes_max,
      scenario.aggregators_are_hosts ? ", aggregators on hosts" : "");
  if (scenario.only_adds) text += "  aggregators are pipelines that only add\n";
  if (scenario.plan.brief_results) text += "  results are brief for roots of broadcasts\n";
  if (!scenario.drivers.empty()) {
    text += "  drivers of the ranks: " + fmt::to_string(fmt::join(scenario.drivers, " ")) + "\n";
  }
  if (scenario.up.any()) text += "  up: " + describe_faults(scenario.up) + "\n";
  if (scenario.down.any()) text += "  down: " + describe_faults(scenario.down) + "\n";
  if (!scenario.pauses.empty() || scenario.stale_packets > 0 || !scenario.starts.empty()) {
    text += fmt::format("  {} pauses, {} stale packets, {}\n", scenario.pauses.size(),
                        scenario.stale_packets,
                        scenario.starts.empty() ? "all start at once" : "ranks start apart");
  }
  if (scenario.earlier) {
    text += fmt::format("  {} packets of an earlier job with this number, epoch {} before {}: {}\n",
                        scenario.earlier->replays, scenario.earlier->epoch, scenario.epoch,
                        incident_name(scenario.earlier->end));
  }
  if (scenario.leave_when_done) text += "  each rank leaves when its calls are done\n";
  if (scenario.incident.kind != Incident::Kind::none) {
    text += fmt::format("  incident: rank {} {}, call {}\n", scenario.incident.rank,
                        incident_name(scenario.incident.kind), scenario.incident.call);
  }
  for (const CallPlan& call : scenario.calls) {
    text +=
        fmt::format("  call: {} {} {} as {}{}{}{}{}, {} elements, {} values\n",
                    collective_name(call.collective), reduction_name(call.reduction),
                    data_type_name(call.layout.dtype), core::format_name(call.layout.format),
                    call.agreed   ? " agreed"
                    : call.digits ? " digits"
                                  : "",
                    call.compression ? describe_compression(*call.compression) : "",
                    call.sized_by_previous ? " sized later" : "", call.is_sparse ? " sparse" : "",
                    call.elements, oracle::value_kind_name(call.values.kind));
  }
  return text;
}

}  // namespace infold::sim
