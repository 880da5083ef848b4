// SPDX-License-Identifier: Apache-2.0
#include "study/reproduce/switchml/loss.h"

#include <fmt/format.h>

#include "study/reproduce/packet_bound.h"
#include "study/reproduce/switch_sum.h"
#include "study/reproduce/switchml/slot_rules.h"

namespace infold::reproduce {
namespace {

constexpr std::uint32_t kPacketElements = 64;
constexpr std::int64_t kLink = 10'000'000'000;
constexpr std::uint16_t kTheirSlots = 128;
constexpr std::uint16_t kSlots[] = {kTheirSlots, 512};

struct Level {
  double loss;
  double inflation_max;  // our target with 512 slots
};
constexpr Level kLevels[] = {{0.0001, 1.02}, {0.001, 1.05}, {0.01, 1.5}};

constexpr const char* kWhy =
    "A slot of SwitchML waits for its timer, and keeps its chunks. A worker of infold asks for a "
    "chunk as soon as later results overtake it, and its window spans all slots.";

double our_time(Report& report, const LossOptions& options, std::uint16_t slots, double loss) {
  SwitchSum sum;
  sum.packet_elements = kPacketElements;
  sum.bits_per_second = kLink;
  sum.slots = slots;
  sum.elements = options.elements;
  sum.loss = loss;
  const SwitchSumTimes times = run(sum);
  report.wrong.insert(report.wrong.end(), times.wrong.begin(), times.wrong.end());
  return times.done_s[0];
}

double their_time(const LossOptions& options, std::uint16_t slots, double loss) {
  return run(SlotRules{.slots = slots,
                       .chunks = options.elements / kPacketElements,
                       .frame_bytes = switchml_udp_frame(kPacketElements).bytes,
                       .bits_per_second = kLink,
                       .loss = loss})
      .done_s;
}

}  // namespace

Report switchml_loss(const LossOptions& options, const Progress& progress) {
  Report report;
  report.setting = {
      fmt::format("8 workers, 10 Gbit/s, 64 elements a packet, {} of f32, round trip 10 us; each "
                  "link loses packets, each way.",
                  size_text(options.elements * sizeof(float))),
      "The authors' plot of inflation could not be read. The figures beside ours come from a "
      "simulation of their rules, packet by packet: a timer of 1 ms, and no chunk moves to another "
      "slot. They use 128 slots, and infold 512 by default."};
  Rows rows(progress, std::size(kSlots) * (1 + std::size(kLevels)));
  for (const std::uint16_t slots : kSlots) {
    rows.begin(fmt::format("no loss, {} slots", slots));
    const double our_base_s = our_time(report, options, slots, 0);
    const double their_base_s = their_time(options, slots, 0);
    for (const Level& level : kLevels) {
      rows.begin(fmt::format("{:g} % loss, {} slots", 100 * level.loss, slots));
      const double ours = our_time(report, options, slots, level.loss) / our_base_s;
      const double theirs = their_time(options, slots, level.loss) / their_base_s;
      report.figures.push_back(
          {fmt::format("inflation at {:g} % loss, {} slots", 100 * level.loss, slots), "times",
           Basis::derived, theirs, ours, kWhy});
      if (slots == kTheirSlots) continue;
      report.targets.push_back({fmt::format("{:g} % loss: at most {:.2f} times; found {:.3f}",
                                            100 * level.loss, level.inflation_max, ours),
                                ours <= level.inflation_max});
    }
  }
  return report;
}

}  // namespace infold::reproduce
