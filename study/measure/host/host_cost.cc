// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/host_cost.h"

#include <algorithm>
#include <stdexcept>

#include "study/desk/interrupt.h"
#include "study/measure/host/replay.h"

namespace infold::measure {
namespace {

constexpr HostWire kWires[] = {{"native", core::WireFormat::native},
                               {"bfp32", core::WireFormat::bfp32},
                               {"bfp16", core::WireFormat::bfp16},
                               {"bfp8", core::WireFormat::bfp8}};

struct Round {
  HostSample sample;
  AloneTimes alone;  // for infold
};

// All rounds of one implementation.
struct Rounds {
  std::optional<HostWire> wire;  // none: Gloo
  std::vector<Round> all;

  std::string name() const { return wire ? std::string("infold-") + wire->name : "gloo-ring"; }
};

Replay replay_of(const HostShape& shape, const HostWire& wire, const HostJob& job,
                 const HostSample& sample) {
  return {.layout = {wire.format, core::DataType::f32},
          .bytes = job.bytes,
          .mtu = job.mtu,
          .sent_together = sample.sent_together,
          .received_together = sample.received_together,
          .apart = shape.apart};
}

// Returns the round with the median time. All its figures come from the same seconds, so they add
// up.
Round median_round(std::vector<Round> rounds) {
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::ranges::nth_element(rounds, middle, {},
                           [](const Round& each) { return each.sample.cpu_s_per_gb; });
  return *middle;
}

void measure_once(HostJobs& jobs, const HostShape& shape, const HostOptions& options,
                  Rounds& rounds) {
  if (desk::InterruptGuard::interrupted()) throw std::runtime_error("stopped on request");
  if (!rounds.wire) {
    rounds.all.push_back({jobs.gloo(shape, options.job), {}});
    return;
  }
  const HostSample sample = jobs.infold(shape, rounds.wire->name, options.job);
  rounds.all.push_back({sample, replay(replay_of(shape, *rounds.wire, options.job, sample))});
}

}  // namespace

std::span<const HostWire> host_wires() { return kWires; }

std::vector<HostCost> measure_host(
    HostJobs& jobs, const HostShape& shape, const HostOptions& options,
    const std::function<void(unsigned round, const std::string& implementation)>& begin) {
  std::vector<Rounds> all;
  for (const HostWire& wire : options.wires) all.push_back({wire, {}});
  if (options.with_gloo) all.push_back({});
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      Rounds& each = all[(turn + round) % all.size()];
      begin(round + 1, each.name());
      measure_once(jobs, shape, options, each);
    }
  }
  const CopyTimes copies = measure_copies(options.job.bytes);
  const double gloo_s = options.with_gloo ? median_round(all.back().all).sample.cpu_s_per_gb : 0;
  std::vector<HostCost> costs;
  for (const Rounds& each : all) {
    HostCost& cost = costs.emplace_back();
    cost.implementation = each.name();
    const Round round = median_round(each.all);
    cost.job = round.sample;
    if (gloo_s > 0) cost.of_gloo = cost.job.cpu_s_per_gb / gloo_s;
    if (!each.wire) continue;
    const Replay replay = replay_of(shape, *each.wire, options.job, cost.job);
    cost.parts = parts_of(round.alone);
    cost.bound_s = bound_s(copies, wire_share(replay), encodes(replay));
  }
  return costs;
}

}  // namespace infold::measure
