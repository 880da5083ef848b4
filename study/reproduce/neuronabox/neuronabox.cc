// SPDX-License-Identifier: Apache-2.0
#include "study/reproduce/neuronabox/neuronabox.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/prng.h"
#include "study/mix/program/gpu.h"
#include "study/mix/program/layers.h"
#include "study/reproduce/neuronabox/beside_emulator.h"
#include "study/whatif/calls/simulated_calls.h"
#include "study/whatif/playback.h"
#include "study/whatif/split.h"

namespace infold::reproduce {
namespace {

using trace::Trace;

constexpr double kLink = 10e9;
constexpr double kJitter = 0.02;  // standard deviation, as a share of a compute's time
constexpr double kTargetWithin = 0.02;
constexpr double kTheirs = 0.01;  // they state "under 1 %"
constexpr const char* kModels[] = {"ResNet-50", "VGG-16", "BERT-large"};
constexpr const char* kWhy =
    "Emulated ranks make their calls when rank 0 makes them, so that nobody waits for the slowest "
    "of them. Theirs is a real clock's gap, of two nodes.";

class Program {
 public:
  explicit Program(std::uint64_t seed, double scale) : prng_(seed), scale_(scale) {}

  // Adds a forward pass, a backward pass with a sum for each layer, and the updates after all sums.
  void add_step(std::int64_t step, std::span<const mix::Layer> layers) {
    double forward_us = 0;
    double update_us = 0;
    for (const mix::Layer& layer : layers) {
      forward_us += layer.forward_us;
      update_us += layer.update_us;
    }
    add_compute(step, forward_us, {});
    std::vector<std::uint64_t> sums;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      add_compute(step, layer->backward_us, {});
      sums.push_back(add_sum(step, layer->elements));
    }
    add_compute(step, update_us, sums);
  }

  Trace trace() { return std::move(trace_); }

 private:
  void add_compute(std::int64_t step, double us, std::vector<std::uint64_t> sums) {
    trace::Node& node = add(step, trace::NodeType::compute);
    node.duration_us =
        static_cast<std::uint64_t>(us * scale_ * (1 + kJitter * mix::draw_normal(prng_)));
    if (last_compute_ > 0) node.control_deps = {last_compute_};
    node.data_deps = std::move(sums);
    last_compute_ = node.id;
  }

  std::uint64_t add_sum(std::int64_t step, std::uint64_t elements) {
    trace::Node& node = add(step, trace::NodeType::collective);
    node.control_deps = {last_compute_};
    const auto scaled =
        std::max<std::int64_t>(1, std::llround(static_cast<double>(elements) * scale_));
    node.attributes.push_back(trace::make_attribute("comm_type", std::int64_t{0}));
    node.attributes.push_back(trace::make_attribute("comm_size", 4 * scaled));
    return node.id;
  }

  trace::Node& add(std::int64_t step, trace::NodeType type) {
    trace::Node& node = trace_.nodes.emplace_back();
    node.id = trace_.nodes.size();
    node.type = type;
    node.attributes = {trace::make_attribute("step", step)};
    return node;
  }

  base::Prng prng_;
  const double scale_;
  Trace trace_;
  std::uint64_t last_compute_ = 0;
};

std::vector<Trace> programs_of(const mix::Model& model, const FidelityOptions& options) {
  std::vector<Trace> programs;
  for (std::uint16_t rank = 0; rank < options.ranks; ++rank) {
    Program program(base::mix64(rank + 1U), options.scale);
    for (std::uint32_t step = 0; step < options.steps; ++step) program.add_step(step, model.layers);
    programs.push_back(program.trace());
  }
  return programs;
}

// Returns the mean step at the first ranks. The first step fills the windows and does not count.
double step_s(Report& report, std::span<const Trace> programs, whatif::Calls& calls,
              const FidelityOptions& options) {
  std::vector<const Trace*> addresses;
  for (const Trace& each : programs) addresses.push_back(&each);
  const auto played =
      whatif::play(addresses, calls, {.groups = whatif::group_of_all(options.ranks), .stop = {}});
  if (!played) {
    report.wrong.push_back(played.error());
    return 0;
  }
  std::vector<const Trace*> results;
  for (std::uint16_t rank = 0; rank < options.real; ++rank) results.push_back(&(*played)[rank]);
  double us = 0;
  double steps = 0;
  for (const auto& rank : whatif::steps_of(results)) {
    for (std::size_t i = 1; i < rank.size(); ++i) {
      us += static_cast<double>(rank[i].us());
      ++steps;
    }
  }
  return steps > 0 ? us * 1e-6 / steps : 0;
}

void add_model(Report& report, const mix::Model& model, const FidelityOptions& options) {
  whatif::Setting setting;
  setting.ranks = options.ranks;
  setting.bits_per_second = kLink;
  setting.round_trip = base::microseconds(20);
  const std::vector<Trace> programs = programs_of(model, options);
  whatif::SimulatedCalls all(setting, whatif::group_of_all(options.ranks));
  const double whole = step_s(report, programs, all, options);
  BesideEmulator few(setting, options.real);
  const double part = step_s(report, std::span(programs).first(options.real), few, options);
  if (!few.fault().empty()) report.wrong.push_back(few.fault());
  const double gap = whole > 0 ? std::abs(part / whole - 1) : 1;
  report.figures.push_back({fmt::format("{}: step, all ranks real", model.name), "ms", Basis::none,
                            0, whole * 1e3 / options.scale, ""});
  report.figures.push_back({fmt::format("{}: step, {} real and {} emulated", model.name,
                                        options.real, options.ranks - options.real),
                            "ms", Basis::none, 0, part * 1e3 / options.scale, ""});
  report.figures.push_back({fmt::format("{}: gap of the two", model.name), "%", Basis::published,
                            100 * kTheirs, 100 * gap, kWhy});
  report.targets.push_back({fmt::format("{}: within {:.0f} %; found {:.2f} %", model.name,
                                        100 * kTargetWithin, 100 * gap),
                            gap <= kTargetWithin});
}

}  // namespace

Report neuronabox(const FidelityOptions& options) {
  Report report;
  report.setting = {
      fmt::format("{} ranks, 10 Gbit/s, round trip 20 us; {} steps. Layers and their times: "
                  "SwitchML-omnetpp, 2023, one V100, both scaled by {:g}. A compute's time varies "
                  "by 2 %.",
                  options.ranks, options.steps, options.scale),
      "First all ranks are the simulator's. Then only the first are, and exchange packets with the "
      "network of infold emulate, in virtual time. Clocks and sockets are not in it; "
      "docs/benchmarks/emulation.md has them."};
  for (const char* name : kModels) {
    const mix::Model* const model = mix::find_model(name);
    if (model == nullptr) {
      report.wrong.push_back(std::string("no model ") + name);
      continue;
    }
    add_model(report, *model, options);
  }
  return report;
}

}  // namespace infold::reproduce
