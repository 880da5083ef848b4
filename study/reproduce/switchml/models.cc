// SPDX-License-Identifier: Apache-2.0
//
// Makes three statements for each model of the published table. The first is the speed-up if the
// switch and the ring both fill the link. The second is the rates at which the published systems
// must have run. The third is the speed-up that the implied rates of two models predict for the
// third model.
#include "study/reproduce/switchml/models.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "study/reproduce/packet_bound.h"
#include "study/reproduce/switch_sum.h"
#include "study/reproduce/switchml/training_step.h"

namespace infold::reproduce {
namespace {

constexpr std::uint16_t kWorkers = 8;
constexpr double kLink = 10e9;
constexpr double kRoundTrip = 10e-6;
// The batch of the authors' table of 2021 for ResNet-50 and VGG-19. The table of 2019 does not give
// one.
constexpr double kBatch = 64;
constexpr double kMega = 1e6;
// How far apart the implied rates of one system may lie if a single rate explains them.
constexpr double kAgreeWithin = 0.15;
constexpr double kSpeedUpWithin = 0.1;

constexpr std::string_view kFullLink = ", speed-up of a full link";

constexpr const char* kBounds =
    "Both sides fill the link here, and sums overlap the backward pass. The published systems ran "
    "below their links' rates: see the implied rates.";
constexpr const char* kImplied =
    "Theirs is the rate that the published images a second imply in this model; ours is the rate "
    "of the link, simulated for the switch and by formula for the ring.";
constexpr const char* kCross =
    "Each system's rate is the geometric mean of those that the two other models imply. SwitchML's "
    "implied rate grows from Inception to VGG-16, as a cost for each tensor would have it: VGG-16 "
    "has few and large ones. These layers are groups of tensors, so the model has no such cost.";
constexpr const char* kNotPublished =
    "The table of 2019, as far as it could be read, does not have this model.";

struct ModelImages {
  std::string_view model;
  PublishedImages images;
};
// Images per second of eight workers at 10 Gbit/s, from the authors' table of 2019.
constexpr ModelImages kImages[] = {
    {"Inception", {.nccl = 799, .switchml = 1079, .ideal = 1132}},
    {"ResNet-50", {.nccl = 911, .switchml = 1412, .ideal = 1838}},
    {"VGG-16", {.nccl = 207, .switchml = 454, .ideal = 1180}},
};

struct Rates {
  double nccl = 0;
  double switchml = 0;
};

Rates implied_by(const Model& model) {
  const double scale = scale_to_ideal(model);
  const auto at = [&](double images) {
    return implied_rate(model.layers, scale, kWorkers * kBatch / images);
  };
  const PublishedImages& theirs = *published_images(model);
  return {.nccl = at(theirs.nccl), .switchml = at(theirs.switchml)};
}

double images(const Model& model, double rate) {
  const double scale = published_images(model) != nullptr ? scale_to_ideal(model) : 1;
  return kWorkers * kBatch / step_s(model.layers, scale, {rate, kRoundTrip});
}

double switch_rate(Report& report, std::uint64_t packets) {
  SwitchSum sum;
  sum.workers = kWorkers;
  sum.bits_per_second = static_cast<std::int64_t>(kLink);
  sum.elements = packets * sum.packet_elements;
  sum.tensors = 2;
  const SwitchSumTimes times = run(sum);
  report.wrong.insert(report.wrong.end(), times.wrong.begin(), times.wrong.end());
  return static_cast<double>(sum.elements) / (times.done_s[1] - times.done_s[0]);
}

void add_bounds(Report& report, const Model& model, const Rates& full) {
  const std::string name = model.name;
  const double on_switch = images(model, full.switchml);
  const double on_ring = images(model, full.nccl);
  const PublishedImages* const published = published_images(model);
  if (published == nullptr) {
    report.figures.push_back({name + std::string(kFullLink), "times", Basis::none, 0,
                              on_switch / on_ring, kNotPublished});
    return;
  }
  const PublishedImages& theirs = *published;
  report.figures.push_back({name + ", switch, full link", "images/s", Basis::published,
                            theirs.switchml, on_switch, kBounds});
  report.figures.push_back(
      {name + ", ring, full link", "images/s", Basis::published, theirs.nccl, on_ring, kBounds});
  report.figures.push_back({name + std::string(kFullLink), "times", Basis::published,
                            theirs.switchml / theirs.nccl, on_switch / on_ring, kBounds});
}

void add_implied(Report& report, const Model& model, const Rates& implied, const Rates& full) {
  const std::string name = model.name;
  report.figures.push_back({name + ", rate of NCCL", "million elements/s", Basis::derived,
                            implied.nccl / kMega, full.nccl / kMega, kImplied});
  report.figures.push_back({name + ", rate of SwitchML", "million elements/s", Basis::derived,
                            implied.switchml / kMega, full.switchml / kMega, kImplied});
}

void add_cross(Report& report, const std::vector<const Model*>& table,
               const std::vector<Rates>& implied) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    double nccl = 1;
    double switchml = 1;
    const double power = 1.0 / static_cast<double>(table.size() - 1);
    for (std::size_t other = 0; other < table.size(); ++other) {
      if (other == i) continue;
      nccl *= std::pow(implied[other].nccl, power);
      switchml *= std::pow(implied[other].switchml, power);
    }
    const Model& model = *table[i];
    const PublishedImages& theirs = *published_images(model);
    report.figures.push_back({std::string(model.name) + ", speed-up at the others' rates", "times",
                              Basis::published, theirs.switchml / theirs.nccl,
                              images(model, switchml) / images(model, nccl), kCross});
  }
}

void add_speed_up_target(Report& report) {
  double low = 0;
  double high = 0;
  for (const Figure& figure : report.figures) {
    if (figure.basis != Basis::published || !figure.name.ends_with(kFullLink)) continue;
    low = std::min(low, *difference(figure));
    high = std::max(high, *difference(figure));
  }
  report.targets.push_back(
      {fmt::format("full links have the published speed-ups within {:.0f} %; found {:+.0f} % to "
                   "{:+.0f} %",
                   100 * kSpeedUpWithin, 100 * low, 100 * high),
       low >= -kSpeedUpWithin && high <= kSpeedUpWithin});
}

void add_targets(Report& report, const std::vector<Rates>& implied, const Rates& full) {
  add_speed_up_target(report);
  const auto [low, high] =
      std::minmax_element(implied.begin(), implied.end(),
                          [](const Rates& a, const Rates& b) { return a.nccl < b.nccl; });
  const double middle = std::sqrt(low->nccl * high->nccl);
  report.targets.push_back(
      {fmt::format(
           "one rate of NCCL, {:.0f} million elements/s, explains all three models within {:.0f} "
           "%; they imply {:.0f} to {:.0f}",
           middle / kMega, 100 * kAgreeWithin, low->nccl / kMega, high->nccl / kMega),
       high->nccl <= (1 + kAgreeWithin) * middle});
  report.targets.push_back(
      {fmt::format("no published system ran faster than its link allows ({:.0f} and {:.0f} million "
                   "elements/s)",
                   full.nccl / kMega, full.switchml / kMega),
       std::all_of(implied.begin(), implied.end(), [&](const Rates& rates) {
         return rates.nccl < full.nccl && rates.switchml < full.switchml;
       })});
}

}  // namespace

const PublishedImages* published_images(const Model& model) {
  const auto* const found =
      std::find_if(std::begin(kImages), std::end(kImages),
                   [&](const ModelImages& each) { return each.model == model.name; });
  return found == std::end(kImages) ? nullptr : &found->images;
}

double scale_to_ideal(const Model& model) {
  const PublishedImages* const published = published_images(model);
  CHECK(published != nullptr);
  return kWorkers * kBatch / published->ideal / compute_s(model.layers);
}

Report switchml_models(const ModelsOptions& options) {
  Report report;
  report.setting = {
      "8 workers, 10 Gbit/s, batches of 64. Layers and their times: SwitchML-omnetpp, 2023, one "
      "V100. The ideal rate of the published table scales the times to its GPU.",
      "Gradients are summed in backward order while the backward pass goes on. The switch's rate "
      "is simulated with packets of 64 elements; the ring moves 2 x 7/8 of the tensor over TCP."};
  const Rates full = {.nccl = ring_elements_per_second(kLink, kWorkers),
                      .switchml = switch_rate(report, options.packets)};
  std::vector<const Model*> table;
  std::vector<Rates> implied;
  for (const Model& model : models()) {
    add_bounds(report, model, full);
    if (published_images(model) == nullptr) continue;
    table.push_back(&model);
    implied.push_back(implied_by(model));
  }
  for (std::size_t i = 0; i < table.size(); ++i) add_implied(report, *table[i], implied[i], full);
  add_cross(report, table, implied);
  add_targets(report, implied, full);
  return report;
}

}  // namespace infold::reproduce
