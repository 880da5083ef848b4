// SPDX-License-Identifier: Apache-2.0
//
// The planner minimises the busiest link's time over all shares, and turns the shares into small
// whole weights. For equal links BytePS has a closed form.
#include "study/reproduce/byteps/byteps.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "study/predict/placement.h"

namespace infold::reproduce {
namespace {

constexpr double kLink = 10e9;
// So long that a chunk more or less does not matter.
constexpr std::uint64_t kTensorBytes = 100'000'000'000;
constexpr std::uint32_t kWorkersMin = 2;
constexpr std::uint32_t kWorkersMax = 8;
constexpr double kTimeExcessMax = 0.002;
constexpr double kShareOffMax = 0.002;  // share of the tensor

constexpr const char* kWeights =
    "The planner makes whole weights of at most 64 of the shares, because chunks are dealt to "
    "sites "
    "in a short pattern.";
constexpr const char* kTwo =
    "With two workers a worker's own passage fills its link, whatever it sums. So the planner may "
    "leave all sums to the hosts or to the workers, in the same time.";

struct Planned {
  double host = 0;  // the mean share of a host
  double time = 0;
};

Planned planned(std::uint32_t workers, std::uint32_t hosts) {
  predict::Question question;
  question.worker_rates.assign(workers, kLink);
  question.hosts.assign(hosts, {"host", kLink});
  question.tensor_bytes = kTensorBytes;
  question.rtt_s = 0;
  const std::vector<predict::Placement> placements = predict::predict(question);
  const auto best = std::find_if(placements.begin(), placements.end(), [](const auto& each) {
    return each.kind != predict::PlacementKind::ring;
  });
  CHECK(best != placements.end());
  const predict::Passage passage =
      predict::passage_of(question.layout, kTensorBytes / 4, question.framing);
  Planned plan;
  plan.time = best->links_s * kLink / (8 * static_cast<double>(passage.link_bytes));
  for (const predict::SiteShare& site : best->sites) {
    if (site.name == "host") plan.host += site.share / hosts;
  }
  return plan;
}

}  // namespace

BytepsShares byteps_shares(std::uint32_t workers, std::uint32_t hosts) {
  CHECK_THAT(workers, >=, 2U);
  CHECK_THAT(hosts, <=, workers);
  const double n = workers;
  const double k = hosts;
  const double divisor = n * n + k * n - 2 * k;
  return {.host = 2 * (n - 1) / divisor,
          .worker = (n - k) / divisor,
          .time = 2 * n * (n - 1) / divisor};
}

Report byteps() {
  Report report;
  report.setting = {
      "n workers and k spare hosts with equal links, by formula and by infold's planner.",
      "A tensor time is what one whole tensor takes on one link. k = 0 has a ring's time, k = n "
      "half "
      "as much for many workers."};
  double excess = 0;
  double off = 0;
  std::vector<Figure> shares;
  for (std::uint32_t n = kWorkersMin; n <= kWorkersMax; ++n) {
    for (std::uint32_t k = 0; k <= n; ++k) {
      const BytepsShares theirs = byteps_shares(n, k);
      const Planned ours = planned(n, k);
      excess = std::max(excess, ours.time / theirs.time - 1);
      const std::string name = fmt::format("n = {}, k = {}", n, k);
      report.figures.push_back(
          {"time, " + name, "tensor times", Basis::formula, theirs.time, ours.time, kWeights});
      if (k == 0) continue;
      if (n > 2) off = std::max(off, std::abs(ours.host - theirs.host));
      shares.push_back({"share of a host, " + name, "%", Basis::formula, 100 * theirs.host,
                        100 * ours.host, n > 2 ? kWeights : kTwo});
    }
  }
  report.figures.insert(report.figures.end(), shares.begin(), shares.end());
  report.targets = {
      {fmt::format("times at most {:.1f} % above the formula; found {:.2f} %", 100 * kTimeExcessMax,
                   100 * excess),
       excess <= kTimeExcessMax},
      {fmt::format("with three workers or more, shares within {:.1f} % of the tensor; found {:.2f} "
                   "%",
                   100 * kShareOffMax, 100 * off),
       off <= kShareOffMax}};
  return report;
}

}  // namespace infold::reproduce
