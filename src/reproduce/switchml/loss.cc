// SPDX-License-Identifier: Apache-2.0
#include "reproduce/switchml/loss.h"

#include <cmath>

#include <fmt/format.h>

#include "reproduce/packet_bound.h"
#include "reproduce/switch_sum.h"

namespace infold::reproduce {
namespace {

constexpr std::uint32_t kPacketElements = 64;
constexpr double kLink = 10e9;

struct Level {
  double loss;
  double inflation_max;  // our target
};
constexpr Level kLevels[] = {{0.0001, 1.02}, {0.001, 1.05}, {0.01, 1.5}};

constexpr const char* kWhy =
    "A slot of SwitchML waits for its timer, and keeps its chunks. A worker of infold asks for a "
    "chunk as soon as later results overtake it, and its window spans all slots.";

double time_at(Report& report, const LossOptions& options, double loss) {
  SwitchSum sum;
  sum.packet_elements = kPacketElements;
  sum.bits_per_second = static_cast<std::int64_t>(kLink);
  sum.elements = options.elements;
  sum.loss = loss;
  const SwitchSumTimes times = run(sum);
  report.wrong.insert(report.wrong.end(), times.wrong.begin(), times.wrong.end());
  return times.done_s[0];
}

}  // namespace

double slot_timer_inflation(const SlotTimers& timers, double loss) {
  const double stopped = 1 - std::pow(1 - loss, 2.0 * timers.workers);
  const double chunks = timers.chunks / timers.slots;
  const double mean = chunks * stopped;
  const double deviation = std::sqrt(mean * (1 - stopped));
  const double unluckiest = mean + std::sqrt(2 * std::log(timers.slots)) * deviation;
  return 1 + unluckiest * timers.timer_s / timers.base_s;
}

Report switchml_loss(const LossOptions& options) {
  Report report;
  const auto elements = static_cast<double>(options.elements);
  report.setting = {
      fmt::format("8 workers, 10 Gbit/s, 64 elements a packet, {:.0f} MB of f32, round trip 10 us; "
                  "each link loses packets, each way.",
                  elements * 4e-6),
      "The authors' plot of inflation could not be read. Their rules give the figures beside ours: "
      "128 slots, a timer of 1 ms, no chunk moves to another slot."};
  const double base_s = time_at(report, options, 0);
  const SlotTimers theirs{
      .chunks = elements / kPacketElements,
      .base_s = elements / switchml_udp_frame(kPacketElements).elements_per_second(kLink)};
  for (const Level& level : kLevels) {
    const double inflation = time_at(report, options, level.loss) / base_s;
    report.figures.push_back({fmt::format("inflation at {:g} % loss", 100 * level.loss), "x",
                              Basis::derived, slot_timer_inflation(theirs, level.loss), inflation,
                              kWhy});
    report.targets.push_back({fmt::format("{:g} % loss: at most {:.2f} times; found {:.3f}",
                                          100 * level.loss, level.inflation_max, inflation),
                              inflation <= level.inflation_max});
  }
  return report;
}

}  // namespace infold::reproduce
