// SPDX-License-Identifier: Apache-2.0
//
// Draws the world, the network and the troubles of a scenario.
#include "study/sim/scenario/draw.h"

#include <algorithm>

namespace infold::sim {
namespace {

// The number of elements in all ranks' data together, which keeps the mean run near 10 ms.
constexpr std::uint64_t kElementBudget = 60'000;

template <typename T, std::size_t kCount>
T pick(const T (&choices)[kCount], base::Prng& prng) {
  return choices[prng.below(kCount)];
}

void draw_sites(Scenario& scenario, base::Prng& prng) {
  constexpr std::uint16_t kWorlds[] = {2, 2, 3, 4, 4, 5, 7, 8, 8, 13, 16, 24, 32, 64};
  scenario.plan.world = pick(kWorlds, prng);
  const std::uint64_t sites = prng.chance(0.5) ? 1 : 1 + prng.below(4);
  const bool trees = prng.chance(0.4);
  for (std::uint64_t site = 0; site < sites; ++site) {
    const auto weight = static_cast<std::uint16_t>(prng.chance(0.5) ? 1 : 1 + prng.below(5));
    const auto depth = static_cast<std::uint32_t>(trees ? 1 + prng.below(3) : 1);
    if (depth > 1 && prng.chance(0.4)) {
      scenario.plan.trees.push_back(plan::uneven_tree(scenario.plan.world, depth, prng));
      scenario.plan.trees.back().weight = weight;
    } else {
      const auto fan_out = static_cast<std::uint32_t>(2 + prng.below(4));
      scenario.plan.trees.push_back(plan::even_tree(scenario.plan.world, depth, fan_out, weight));
    }
  }
}

void draw_limits(Scenario& scenario, base::Prng& prng) {
  constexpr std::uint32_t kDatagrams[] = {1452, 1472, 1472, 1472, 4000, 8952};
  scenario.plan.datagram_bytes_max = pick(kDatagrams, prng);
  // Planes may have small limits, like a P4 pipeline. Blocks of f64 need 64 elements.
  constexpr std::uint32_t kElements[] = {64, 128, 256, 352};
  if (prng.chance(0.3)) scenario.plan.elements_max = pick(kElements, prng);
  constexpr std::uint16_t kSmall[] = {1, 2, 4, 8, 16};
  constexpr std::uint16_t kBulk[] = {1, 3, 8, 16, 48};
  scenario.plan.small_slots = pick(kSmall, prng);
  scenario.plan.bulk_slots = pick(kBulk, prng);
  if (prng.chance(0.1)) scenario.window_max = static_cast<std::uint16_t>(1 + prng.below(8));
  scenario.transfers_max = prng.chance(0.2) ? 2 + static_cast<std::uint32_t>(prng.below(4)) : 64;
}

void draw_link(Scenario& scenario, base::Prng& prng) {
  constexpr std::int64_t kRates[] = {100'000'000, 1'000'000'000, 10'000'000'000, 100'000'000'000};
  constexpr std::int64_t kQueues[] = {20'000, 64'000, 256'000, 1'000'000};
  scenario.link.bits_per_second = prng.chance(0.05) ? 0 : pick(kRates, prng);
  scenario.link.delay = base::nanoseconds(prng.between(200, prng.chance(0.2) ? 500'000 : 20'000));
  scenario.link.queue_bytes_max = pick(kQueues, prng);
  scenario.aggregators_are_hosts = prng.chance(0.25);
  scenario.host_queue_bytes = prng.chance(0.5) ? scenario.link.queue_bytes_max / 2 : 0;
}

FaultOptions draw_faults(base::Prng& prng) {
  FaultOptions faults;
  // The cube makes most strengths mild, and a few as high as 30 %.
  const auto strength = [&prng](double most) {
    const double u = prng.uniform();
    return most * u * u * u;
  };
  if (prng.chance(0.5)) faults.loss = strength(0.3);
  if (prng.chance(0.25)) {
    faults.burst_start = strength(0.05);
    faults.burst_packets = 1 + prng.uniform() * 10;
  }
  if (prng.chance(0.4)) faults.duplicate = strength(0.3);
  if (prng.chance(0.4)) {
    faults.reorder = strength(0.5);
    faults.reorder_max = base::microseconds(prng.between(1, prng.chance(0.3) ? 5'000 : 100));
  }
  if (prng.chance(0.3)) faults.corrupt = strength(0.2);
  if (prng.chance(0.3)) faults.jitter_max = base::microseconds(prng.between(1, 50));
  return faults;
}

void draw_troubles(Scenario& scenario, base::Prng& prng) {
  if (prng.chance(0.9)) scenario.up = draw_faults(prng);
  scenario.down = prng.chance(0.3) ? scenario.up : draw_faults(prng);
  const base::Instant until = base::Instant{} + base::milliseconds(prng.between(1, 400));
  scenario.up.until = scenario.down.until = until;
  scenario.asymmetric = prng.chance(0.4);

  if (prng.chance(0.25)) {
    const std::uint64_t count = 1 + prng.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      const base::Instant from = base::Instant{} + base::microseconds(prng.between(0, 3'000));
      scenario.pauses.push_back(
          {.rank = static_cast<std::uint16_t>(prng.below(scenario.plan.world)),
           .from = from,
           .until = from + base::microseconds(prng.between(10, 100'000))});
    }
    scenario.receive_queue_packets = static_cast<std::uint32_t>(prng.between(0, 300));
  }
  if (prng.chance(0.3)) {
    const std::int64_t most = prng.chance(0.3) ? 200'000'000 : 1'000'000;
    for (std::uint16_t rank = 0; rank < scenario.plan.world; ++rank) {
      scenario.starts.push_back(base::nanoseconds(prng.between(0, most)));
    }
  }
  if (prng.chance(0.25)) scenario.stale_packets = static_cast<std::uint32_t>(prng.below(200));
}

// One rank makes a call that the others do not expect, or ends the job. All calls then have a
// deadline after the end of the troubles, so that no rank waits forever.
void draw_incident(Scenario& scenario, base::Prng& prng) {
  Incident& incident = scenario.incident;
  const auto kinds = static_cast<std::uint64_t>(Incident::Kind::count_) - 1;
  incident.kind = static_cast<Incident::Kind>(1 + prng.below(kinds));
  incident.rank = static_cast<std::uint16_t>(prng.below(scenario.plan.world));
  incident.call = static_cast<std::uint32_t>(prng.below(scenario.calls.size()));
  incident.after = base::microseconds(prng.between(0, 2'000));
  CallPlan& call = scenario.calls[incident.call];
  const bool has_root =
      call.collective == core::Collective::reduce || call.collective == core::Collective::broadcast;
  const bool needs_size = incident.kind == Incident::Kind::wrong_size ||
                          incident.kind == Incident::Kind::wrong_type ||
                          incident.kind == Incident::Kind::wrong_operation;
  if ((needs_size && call.elements < 2) ||
      (incident.kind == Incident::Kind::wrong_root && !has_root)) {
    incident.kind = Incident::Kind::never_calls;
  }
  if (needs_size && incident.kind != Incident::Kind::never_calls) {
    // Chooses a call whose type or reduction can be replaced by another one of the same width.
    call.collective = core::Collective::all_reduce;
    call.reduction = core::Reduction::sum;
    call.layout = {core::WireFormat::i32, core::DataType::i32};
    call.agreed = call.digits = false;
    call.compression.reset();
    call.root = 0;
    call.values.dtype = core::DataType::i32;
  }
  for (CallPlan& each : scenario.calls) each.deadline = base::seconds(2);
}

// Draws a random epoch, as a switch does, or the next one. The draw has its own generator, because
// a draw from the shared generator would change every seed's scenario.
void draw_earlier_job(Scenario& scenario) {
  constexpr Incident::Kind kEnds[] = {Incident::Kind::none, Incident::Kind::cancels,
                                      Incident::Kind::leaves};
  base::Prng prng(base::mix64(scenario.seed ^ 0xEA411E));
  if (!prng.chance(0.06)) return;
  scenario.epoch = static_cast<std::uint32_t>(prng.next());
  const std::uint32_t other = 1 + static_cast<std::uint32_t>(prng.below(0xFFFF'FFFF));
  scenario.earlier = {.end = pick(kEnds, prng),
                      .epoch = scenario.epoch - (prng.chance(0.5) ? 1 : other),
                      .replays = static_cast<std::uint32_t>(prng.between(20, 600))};
}

// Some ranks have several workers, and others one. This draw also has its own generator.
void draw_drivers(Scenario& scenario) {
  const std::size_t sites = scenario.plan.trees.size();
  base::Prng prng(base::mix64(scenario.seed ^ 0xD41FE));
  if (sites == 1 || !prng.chance(0.5)) return;
  for (std::uint16_t rank = 0; rank < scenario.plan.world; ++rank) {
    scenario.drivers.push_back(static_cast<std::uint8_t>(1 + prng.below(sites)));
  }
}

// This has its own generator as well. Half of the jobs have brief results, which show in
// broadcasts.
bool draw_brief_results(std::uint64_t seed) {
  return base::Prng(base::mix64(seed ^ 0xB41EF)).chance(0.5);
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  base::Prng prng(base::mix64(seed ^ 0x1F01D));
  Scenario scenario;
  scenario.name = "drawn";
  scenario.seed = seed;
  draw_sites(scenario, prng);
  draw_limits(scenario, prng);
  draw_link(scenario, prng);
  scenario.calls = draw_calls(scenario.plan.world, kElementBudget, prng);
  for (std::size_t site = 0; site < scenario.plan.trees.size(); ++site) {
    // Not drawn from prng, because that would change every seed's scenario.
    plan::set_takes_sparse(scenario.plan.trees[site], base::mix64(seed * 64 + site) % 4 != 0);
  }
  draw_troubles(scenario, prng);
  if (prng.chance(0.15)) {
    draw_incident(scenario, prng);
  } else {
    scenario.leave_when_done = prng.chance(0.3);
  }
  scenario.plan.brief_results = draw_brief_results(seed);
  draw_earlier_job(scenario);
  draw_drivers(scenario);
  if (base::mix64(seed ^ 0xADD) % 8 == 0 && only_add(scenario)) {
    if (base::mix64(seed ^ 0xC41B) % 4 == 0) add_as_chips(scenario);
  }
  return scenario;
}

}  // namespace infold::sim
