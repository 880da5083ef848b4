// SPDX-License-Identifier: Apache-2.0
//
// The named scenarios: a common base, and the change that each one makes to it.
#include "study/sim/scenario/named.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "numeric/codec.h"
#include "study/sim/scenario/draw.h"

namespace infold::sim {
namespace {

using core::WireFormat;

constexpr std::size_t kChildrenMax = INFOLD_WORKERS_MAX;  // for one aggregator
static_assert(numeric::kAgreedWorldMax == numeric::kDigitWorldMax);
// An endpoint has up to seven nodes, whose numbers have 16 bits.
constexpr std::size_t kEndpointsMax = 9'000;
// The limit for all ranks' tensors together, which makes some 17 GB of inputs and results.
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 31;

struct Recipe {
  NamedScenario named;
  std::uint32_t sites = 1;
  std::uint32_t depth = 1;
  void (*change)(Scenario&) = nullptr;
};

void add_loss(Scenario& scenario) { scenario.up.loss = scenario.down.loss = 0.01; }

void add_bursts(Scenario& scenario) {
  scenario.up.burst_start = scenario.down.burst_start = 0.002;
  scenario.up.burst_packets = scenario.down.burst_packets = 8;
}

void add_reordering(Scenario& scenario) {
  for (FaultOptions* faults : {&scenario.up, &scenario.down}) {
    faults->reorder = 0.1;
    faults->reorder_max = base::microseconds(200);
    faults->duplicate = 0.05;
    faults->jitter_max = base::microseconds(5);
  }
}

void add_damage(Scenario& scenario) { scenario.up.corrupt = scenario.down.corrupt = 0.02; }

void add_pause(Scenario& scenario) {
  const auto straggler = static_cast<std::uint16_t>(scenario.plan.world - 1);
  scenario.pauses.push_back({.rank = straggler,
                             .from = base::Instant{} + base::microseconds(50),
                             .until = base::Instant{} + base::milliseconds(20)});
}

void add_late_ranks(Scenario& scenario) {
  base::Prng prng(scenario.seed);
  for (std::uint16_t rank = 0; rank < scenario.plan.world; ++rank) {
    scenario.starts.push_back(base::microseconds(prng.between(0, 50'000)));
  }
}

void add_stale_packets(Scenario& scenario) { scenario.stale_packets = 500; }

void add_earlier_job(Scenario& scenario) {
  scenario.earlier = {
      .end = Incident::Kind::cancels, .epoch = scenario.epoch - 1, .replays = 1'000};
}

void add_everything(Scenario& scenario) {
  add_loss(scenario);
  add_reordering(scenario);
  add_damage(scenario);
  add_pause(scenario);
  add_stale_packets(scenario);
  base::Prng prng(base::mix64(scenario.seed));
  scenario.calls = draw_calls(scenario.plan.world, 200'000, prng);
}

void add_mismatch(Scenario& scenario) {
  scenario.incident = {.kind = Incident::Kind::wrong_size, .rank = 1, .call = 1, .after = {}};
}

void add_absence(Scenario& scenario) {
  scenario.incident = {.kind = Incident::Kind::never_calls, .rank = 2, .call = 1, .after = {}};
  for (CallPlan& call : scenario.calls) call.deadline = base::milliseconds(500);
}

void add_cancel(Scenario& scenario) {
  scenario.incident = {
      .kind = Incident::Kind::cancels, .rank = 1, .call = 0, .after = base::microseconds(60)};
}

constexpr Recipe kRecipes[] = {
    {{"clean", "nothing goes wrong"}},
    {{"loss", "1 % of packets are lost, each way"}, 1, 1, add_loss},
    {{"burst", "packets are lost eight at a time"}, 1, 1, add_bursts},
    {{"reorder", "packets overtake each other and come twice"}, 1, 1, add_reordering},
    {{"damage", "2 % of packets are damaged; checksums find them"}, 1, 1, add_damage},
    {{"tree", "racks under a spine, with loss on every hop"}, 1, 2, add_loss},
    {{"stripe", "three aggregators of different weights, with loss"}, 3, 1, add_loss},
    {{"pause", "one worker pauses for 20 ms"}, 1, 1, add_pause},
    {{"late", "ranks begin up to 50 ms apart"}, 1, 1, add_late_ranks},
    {{"stale", "packets of other jobs and epochs arrive all the time"}, 1, 1, add_stale_packets},
    {{"again", "packets of an ended job with the same number arrive"}, 1, 1, add_earlier_job},
    {{"mixed", "all of these over two trees, with calls of all kinds"}, 2, 2, add_everything},
    {{"mismatch", "rank 1 calls with a tensor of another size"}, 1, 1, add_mismatch},
    {{"absent", "rank 2 never makes the second call"}, 1, 1, add_absence},
    {{"cancel", "rank 1 cancels"}, 1, 1, add_cancel},
};

CallPlan large_call(const std::string& format, std::uint64_t elements, std::uint64_t seed) {
  if (format == "i32") return sum_of_integers(elements, seed);
  if (format == "agreed") return sum_with_agreed_exponents(elements, seed);
  if (format == "digits") return sum_by_digits(elements, seed);
  if (format == "compressed") return compressed_mean({.method = "shared"}, elements, seed);
  if (format == "bfp8") return sum_of_floats(WireFormat::bfp8, elements, seed);
  if (format == "bfp16") return sum_of_floats(WireFormat::bfp16, elements, seed);
  if (format == "native") return sum_of_floats(WireFormat::native, elements, seed);
  return sum_of_floats(WireFormat::bfp32, elements, seed);
}

const Recipe* find_recipe(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kRecipes), std::end(kRecipes),
                   [&](const Recipe& each) { return name == each.named.name; });
  return found == std::end(kRecipes) ? nullptr : found;
}

std::uint16_t world_of(const NamedOptions& options) {
  return options.workers > 0 ? options.workers : std::uint16_t{4};
}

std::uint32_t sites_of(const Recipe& recipe, const NamedOptions& options) {
  return options.sites > 0 ? options.sites : recipe.sites;
}

plan::Tree tree_of(const Recipe& recipe, const NamedOptions& options, std::uint16_t weight) {
  const std::uint32_t depth = options.depth > 0 ? options.depth : recipe.depth;
  const std::uint32_t fan_out = options.fan_out > 0 ? options.fan_out : 2;
  return plan::even_tree(world_of(options), depth, fan_out, weight);
}

void override_faults(FaultOptions& faults, const NamedOptions& options) {
  if (options.loss >= 0) faults.loss = options.loss;
  if (options.duplicate >= 0) faults.duplicate = options.duplicate;
  if (options.corrupt >= 0) faults.corrupt = options.corrupt;
  if (options.reorder >= 0) {
    faults.reorder = options.reorder;
    faults.reorder_max = base::microseconds(100);
  }
}

}  // namespace

CallPlan sum_of_floats(WireFormat format, std::uint64_t elements, std::uint64_t seed) {
  CallPlan call;
  call.layout = {format, core::DataType::f32};
  call.elements = elements;
  call.values = {.dtype = core::DataType::f32, .kind = oracle::ValueKind::heavy, .seed = seed};
  return call;
}

CallPlan sum_of_integers(std::uint64_t elements, std::uint64_t seed) {
  CallPlan call;
  call.layout = {WireFormat::i32, core::DataType::i32};
  call.elements = elements;
  call.values = {.dtype = core::DataType::i32, .kind = oracle::ValueKind::heavy, .seed = seed};
  return call;
}

CallPlan sum_with_agreed_exponents(std::uint64_t elements, std::uint64_t seed) {
  CallPlan call = sum_of_floats(WireFormat::i32, elements, seed);
  call.agreed = true;
  return call;
}

CallPlan sum_by_digits(std::uint64_t elements, std::uint64_t seed) {
  CallPlan call = sum_of_floats(WireFormat::i32, elements, seed);
  call.digits = true;
  return call;
}

CallPlan compressed_mean(CompressionPlan compression, std::uint64_t elements, std::uint64_t seed) {
  CallPlan call = sum_of_floats(WireFormat::native, elements, seed);
  call.reduction = core::Reduction::average;
  call.compression = std::move(compression);
  return call;
}

std::vector<NamedScenario> scenario_names() {
  std::vector<NamedScenario> names;
  for (const Recipe& recipe : kRecipes) names.push_back(recipe.named);
  return names;
}

std::string reason_against(std::string_view name, const NamedOptions& options) {
  const Recipe* const recipe = find_recipe(name);
  if (recipe == nullptr) return "";
  const plan::Tree tree = tree_of(*recipe, options, 1);
  for (const plan::Aggregator& each : tree.aggregators) {
    if (each.children.size() <= kChildrenMax) continue;
    return fmt::format("an aggregator would have {} children, and takes {}", each.children.size(),
                       kChildrenMax);
  }
  const bool counts_ranks = options.format == "digits" || options.format == "agreed";
  if (counts_ranks && world_of(options) > numeric::kDigitWorldMax) {
    return fmt::format("format {} has {} ranks at most; choose native or bfp32", options.format,
                       numeric::kDigitWorldMax);
  }
  const std::size_t endpoints =
      world_of(options) + std::size_t{sites_of(*recipe, options)} * tree.aggregators.size();
  if (endpoints > kEndpointsMax) {
    return fmt::format("the network would have {} ranks and aggregators, and holds {}", endpoints,
                       kEndpointsMax);
  }
  const std::uint64_t elements = options.elements * world_of(options);
  if (!options.bulk && elements > kElementsMax) {
    return fmt::format("the ranks' tensors would have {} elements, and memory is kept for {}",
                       elements, kElementsMax);
  }
  return "";
}

std::optional<Scenario> named_scenario(std::string_view name, std::uint64_t seed,
                                       const NamedOptions& options) {
  const Recipe* const recipe = find_recipe(name);
  if (recipe == nullptr) return std::nullopt;
  Scenario scenario;
  scenario.name = name;
  scenario.seed = seed;
  scenario.plan.world = world_of(options);
  for (std::uint32_t site = 0; site < sites_of(*recipe, options); ++site) {
    scenario.plan.trees.push_back(tree_of(*recipe, options, static_cast<std::uint16_t>(1 + site)));
  }
  // A small tensor, a large one and a small one, as in a training step.
  const std::uint64_t elements = options.elements > 0 ? options.elements : 100'000;
  scenario.calls = {sum_of_integers(100, seed), large_call(options.format, elements, seed + 1),
                    sum_of_integers(64, seed + 2)};
  scenario.calls[1].bulk = options.bulk;
  if (options.bulk) scenario.check_period = 0;
  if (options.bits_per_second > 0) scenario.link.bits_per_second = options.bits_per_second;
  if (options.round_trip.ns > 0) scenario.link.delay = options.round_trip / 2;
  if (recipe->change != nullptr) recipe->change(scenario);
  override_faults(scenario.up, options);
  override_faults(scenario.down, options);
  return scenario;
}

}  // namespace infold::sim
