// SPDX-License-Identifier: Apache-2.0
//
// Each run sums three tensors in a row. The rate is that of the second and the third, because the
// authors also measure after a warm-up.
#include "study/reproduce/switchml/rate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "study/reproduce/packet_bound.h"
#include "study/reproduce/switch_sum.h"

namespace infold::reproduce {
namespace {

constexpr std::uint16_t kWorlds[] = {2, 4, 8, 16};
constexpr double kShareMin = 0.97;
constexpr double kSpreadMax = 0.02;
constexpr double kPublishedMax = 0.03;
constexpr double kMega = 1e6;
constexpr std::uint16_t kTheirPool = 128;  // at 10 Gbit/s; at 100 Gbit/s it is 512

constexpr const char* kHeader =
    "The header of infold has 32 bytes, because slots compare jobs, epochs and rounds. Each 32 "
    "elements have an exponent, padded to 4 bytes. SwitchML's UDP packet has 10 bytes for both; "
    "its RDMA packet has 16 bytes of RoCE.";
constexpr const char* kBoundOnly =
    "No rate for this packet is published in a form that could be read. The figure beside ours is "
    "the bound of SwitchML's packet, which its authors say they come near.";
constexpr const char* kCold =
    "The least of all worlds. The first tensor waits for its first results and opens its window.";
constexpr const char* kPool =
    "SwitchML's pool at 10 Gbit/s. A window of infold is at most a quarter of the slots, so that a "
    "lost chunk does not stop the others. It needs four times the slots of a window that fills the "
    "path.";
constexpr const char* kAdder =
    "The least of all worlds. Elements are i32, and the switch is a pipeline that touches each "
    "register once for a packet, as a P4 switch does.";
constexpr const char* kNoProcessors =
    "The authors measured network cards and hosts. The simulator has links, queues and the "
    "protocol, and its processors take no time.";

// Elements per second at 100 Gbit/s over RDMA, read by eye from the authors' plot, within 2 %.
std::optional<double> published_rate(std::uint16_t workers) {
  switch (workers) {
    case 4: return 2.83e9;
    case 8: return 2.82e9;
    case 16: return 2.81e9;
    default: return std::nullopt;
  }
}

// What all worlds of one row share.
struct Packet {
  std::uint32_t elements;
  std::int64_t bits_per_second;
  Frame theirs;
};

std::string label(const Packet& packet) {
  return fmt::format("{} elements, {} Gbit/s", packet.elements,
                     packet.bits_per_second / 1'000'000'000);
}

void add_bounds(Report& report, const Packet& packet) {
  const auto rate = static_cast<double>(packet.bits_per_second);
  const Frame ours = infold_frame(packet.elements);
  report.figures.push_back({"bound of the packet, " + label(packet), "million elements/s",
                            Basis::formula, packet.theirs.elements_per_second(rate) / kMega,
                            ours.elements_per_second(rate) / kMega, kHeader});
  report.setting.push_back(
      fmt::format("Bound, {}: link rate / (8 x frame) x elements. A frame with preamble and gap "
                  "has {} bytes in infold, {} in SwitchML; {} of them are elements.",
                  label(packet), ours.bytes, packet.theirs.bytes, 4 * ours.elements));
}

struct Rates {
  double settled = 0;
  double cold = 0;  // for the first tensor, whose window opens from nothing
};

Rates rates_of(Report& report, const Packet& packet, std::uint64_t packets, SwitchSum sum) {
  sum.packet_elements = packet.elements;
  sum.bits_per_second = packet.bits_per_second;
  sum.elements = packets * packet.elements;
  sum.tensors = 3;
  const SwitchSumTimes times = run(sum);
  report.wrong.insert(report.wrong.end(), times.wrong.begin(), times.wrong.end());
  const auto elements = static_cast<double>(sum.elements);
  return {.settled = 2 * elements / (times.done_s[2] - times.done_s[0]),
          .cold = elements / times.done_s[0]};
}

// The worlds of one row, whose rate should not depend on the number of workers.
struct Row {
  double least = 0;
  double spread = 0;  // as a share of the least
  bool is_flat() const { return spread < kSpreadMax; }
};

Row row_of(const std::vector<double>& rates) {
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {.least = *low, .spread = *high / *low - 1};
}

void add_rates(Report& report, const Packet& packet, std::uint64_t packets) {
  const auto link = static_cast<double>(packet.bits_per_second);
  const double bound = infold_frame(packet.elements).elements_per_second(link);
  const double their_bound = packet.theirs.elements_per_second(link);
  const bool is_measured = packet.elements == 256;
  double cold = bound;
  std::vector<double> rates;
  std::vector<Figure> shares;
  for (const std::uint16_t workers : kWorlds) {
    const Rates found = rates_of(report, packet, packets, {.workers = workers});
    const double rate = found.settled;
    rates.push_back(rate);
    cold = std::min(cold, found.cold);
    const std::string name = fmt::format("{} workers, {}", workers, label(packet));
    const std::optional<double> published =
        is_measured ? published_rate(workers) : std::optional<double>();
    Figure figure{"rate, " + name,     "million elements/s", Basis::formula,
                  their_bound / kMega, rate / kMega,         kBoundOnly};
    Figure share{"share of bound, " + name, "%", Basis::none, 0, 100 * rate / bound, ""};
    if (published) {
      figure.basis = share.basis = Basis::published;
      figure.theirs = *published / kMega;
      share.theirs = 100 * *published / their_bound;
      figure.why = share.why = kNoProcessors;
    }
    report.figures.push_back(figure);
    shares.push_back(share);
  }
  report.figures.insert(report.figures.end(), shares.begin(), shares.end());
  report.figures.push_back({"share of bound, first tensor, " + label(packet), "%", Basis::none, 0,
                            100 * cold / bound, kCold});

  const Row row = row_of(rates);
  report.targets.push_back(
      {fmt::format("{}: at least {:.0f} % of the bound; found {:.2f} % or more", label(packet),
                   100 * kShareMin, 100 * row.least / bound),
       row.least >= kShareMin * bound});
  report.targets.push_back(
      {fmt::format("{}: less than {:.0f} % between 2 and 16 workers; found {:.3f} %", label(packet),
                   100 * kSpreadMax, 100 * row.spread),
       row.is_flat()});
}

// Runs the product's rules on the authors' chip: integers only, and each packet touches a register
// once.
void add_adders(Report& report, const Packet& packet, std::uint64_t packets) {
  const double bound = infold_integer_frame(packet.elements)
                           .elements_per_second(static_cast<double>(packet.bits_per_second));
  std::vector<double> rates;
  for (const std::uint16_t workers : kWorlds) {
    const Rates found = rates_of(report, packet, packets, {.workers = workers, .only_adds = true});
    rates.push_back(found.settled);
    const std::optional<double> published =
        packet.elements == 256 ? published_rate(workers) : std::optional<double>();
    if (!published) continue;
    report.figures.push_back(
        {fmt::format("rate, pipeline that adds, {} workers, {}", workers, label(packet)),
         "million elements/s", Basis::published, *published / kMega, found.settled / kMega,
         kNoProcessors});
    report.targets.push_back(
        {fmt::format("{}: a pipeline that adds, {} workers, within {:.0f} % of the published rate",
                     label(packet), workers, 100 * kPublishedMax),
         std::abs(found.settled / *published - 1) <= kPublishedMax});
  }
  const Row row = row_of(rates);
  report.figures.push_back({"share of bound, pipeline that adds, " + label(packet), "%",
                            Basis::none, 0, 100 * row.least / bound, kAdder});
  report.targets.push_back(
      {fmt::format("{}: a pipeline that adds, at least {:.0f} % of the bound and less than {:.0f} "
                   "% between 2 and 16 workers; found {:.2f} % and {:.3f} %",
                   label(packet), 100 * kShareMin, 100 * kSpreadMax, 100 * row.least / bound,
                   100 * row.spread),
       row.least >= kShareMin * bound && row.is_flat()});
}

// The same in packets as short as the authors' own.
void add_adders_in_their_frame(Report& report, const Packet& packet, std::uint64_t packets) {
  const double bound =
      packet.theirs.elements_per_second(static_cast<double>(packet.bits_per_second));
  const std::uint32_t less = infold_integer_frame(packet.elements).bytes - packet.theirs.bytes;
  std::vector<double> rates;
  for (const std::uint16_t workers : kWorlds) {
    const SwitchSum sum = {.workers = workers, .frame_bytes_less = less, .only_adds = true};
    rates.push_back(rates_of(report, packet, packets, sum).settled);
    report.figures.push_back({fmt::format("rate, pipeline that adds, SwitchML's frame, {} workers, "
                                          "{}",
                                          workers, label(packet)),
                              "million elements/s", Basis::formula, bound / kMega,
                              rates.back() / kMega, kBoundOnly});
  }
  const Row row = row_of(rates);
  report.targets.push_back(
      {fmt::format(
           "{}: a pipeline that adds, in SwitchML's frame, within {:.0f} % of the bound and "
           "less than {:.0f} % between 2 and 16 workers; found {:.2f} % and {:.3f} %",
           label(packet), 100 * kPublishedMax, 100 * kSpreadMax, 100 * (1 - row.least / bound),
           100 * row.spread),
       std::abs(row.least / bound - 1) <= kPublishedMax && row.is_flat()});
}

// Runs with the authors' pool for this packet. Their pool for the other packet is that of all runs.
void add_pool(Report& report, const Packet& packet, std::uint64_t packets) {
  const double bound = infold_frame(packet.elements)
                           .elements_per_second(static_cast<double>(packet.bits_per_second));
  const Rates found = rates_of(report, packet, packets, {.workers = 8, .slots = kTheirPool});
  report.figures.push_back({fmt::format("share of bound, {} slots, {}", kTheirPool, label(packet)),
                            "%", Basis::none, 0, 100 * found.settled / bound, kPool});
}

}  // namespace

Report switchml_rate(const RateOptions& options) {
  Report report;
  report.setting = {
      "Workers and a switch of infold in the simulator: a link for each worker, round trip 10 us, "
      "512 slots, f32 as bfp32.",
      fmt::format("The rate of two tensors of {} packets, after a first one.", options.packets)};
  const Packet packets[] = {{64, 10'000'000'000, switchml_udp_frame(64)},
                            {256, 100'000'000'000, switchml_rdma_frame(256)}};
  for (const Packet& packet : packets) add_bounds(report, packet);
  for (const Packet& packet : packets) add_rates(report, packet, options.packets);
  for (const Packet& packet : packets) add_adders(report, packet, options.packets);
  add_adders_in_their_frame(report, packets[0], options.packets);
  add_pool(report, packets[0], options.packets);
  return report;
}

}  // namespace infold::reproduce
