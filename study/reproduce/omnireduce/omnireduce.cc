// SPDX-License-Identifier: Apache-2.0
//
// A sparse sum in infold is a chain of transfers. Some join the sets of blocks, and the last one
// sums the blocks of the union, for which each rank sends only its own blocks. The simulator runs
// the whole chain.
#include "study/reproduce/omnireduce/omnireduce.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "study/reproduce/omnireduce/sparse_sets.h"
#include "study/reproduce/packet_bound.h"
#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::reproduce {
namespace {

constexpr std::uint16_t kWorkers = 8;
constexpr double kLink = 100e9;
constexpr double kBytesPerSecond = kLink / 8;
constexpr double kPublishedNcclMs = 17.1;  // dense, with GPUDirect
constexpr std::uint64_t kPublishedBlocks = 102'400;
constexpr std::uint32_t kBlockElements = 256;
constexpr double kEfficiencyMin = 0.85;
constexpr double kVolumeMax = 1.05;

// Read by eye from the authors' plot, within 0.3 ms: 8 workers, 8 aggregators, GPUDirect.
struct Point {
  double density;
  double published_ms;
};
constexpr Point kPoints[] = {{1.0, 15.5}, {0.8, 14.4}, {0.4, 12.3}, {0.2, 10.5}, {0.1, 7.8},
                             {0.08, 7.1}, {0.04, 5.1}, {0.02, 3.8}, {0.01, 3.1}};

constexpr const char* kTime =
    "The authors' time has copies of the whole tensor on the GPU and some 2.5 ms for each call. "
    "The simulator has links, queues and the protocol, and its processors take no time.";
constexpr const char* kSent =
    "Theirs is the share of blocks that a rank has. infold also sends headers (32 bytes a packet), "
    "sets of blocks, and the join of the sets.";
constexpr const char* kReceived =
    "Theirs is the expected share of blocks that some rank has. infold also receives headers, and "
    "the join of the sets.";
constexpr const char* kOverNccl =
    "Theirs is measured beside a dense ring of NCCL with GPUDirect, which took 17.1 ms. Ours is "
    "simulated, beside a dense ring over TCP that fills the link.";
constexpr const char* kOverUnion =
    "The strongest simple rival: a ring joins bitmaps of the blocks, and a second ring sums the "
    "blocks of the union. Both rings fill the link, and their processors take no time.";
constexpr const char* kUnion = "The draw of one seed beside its expected value.";

// Counts the bytes of datagrams that ranks send and receive.
class Volume final : public sim::Observer {
 public:
  explicit Volume(const sim::Wiring& wiring) : ranks_(wiring.worker_nodes) {}

  void on_send(base::Instant, const sim::Path& path, std::span<const std::byte> bytes,
               std::uint64_t) override {
    if (is_rank(path.source)) sent += bytes.size();
  }
  void on_arrival(base::Instant, const sim::Path& path, std::span<const std::byte> bytes) override {
    if (!is_rank(path.source)) received += bytes.size();
  }
  void on_drop(base::Instant, const sim::Path&, std::span<const std::byte>,
               sim::DropCause) override {}

  std::uint64_t sent = 0;
  std::uint64_t received = 0;

 private:
  bool is_rank(sim::NodeId node) const {
    return std::find(ranks_.begin(), ranks_.end(), node) != ranks_.end();
  }

  const std::vector<sim::NodeId>& ranks_;
};

struct SparseTimes {
  double seconds = 0;
  double sent_bytes = 0;  // by each rank
  double received_bytes = 0;
};

sim::Scenario scenario_of(const SparseSets& sets) {
  sim::Scenario scenario;
  scenario.name = "omnireduce";
  scenario.plan.world = kWorkers;
  scenario.plan.small_slots = 64;
  scenario.plan.bulk_slots = 512;
  scenario.plan.trees = {plan::flat_tree(kWorkers)};
  for (const std::uint64_t words : sets.join_words) {
    sim::CallPlan join = sim::sum_of_integers(words);
    join.reduction = core::Reduction::bit_or;
    join.priority = core::Priority::urgent;
    join.bulk = true;
    join.sized_by_previous = !scenario.calls.empty();
    scenario.calls.push_back(join);
  }
  sim::CallPlan sum =
      sim::sum_of_floats(core::WireFormat::native, sets.union_blocks * kBlockElements);
  sum.bulk = sum.is_sparse = sum.sized_by_previous = true;
  sum.present = sets.own;
  scenario.calls.push_back(sum);
  scenario.link = {.bits_per_second = static_cast<std::int64_t>(kLink),
                   .delay = base::microseconds(5),
                   .queue_bytes_max = 1 << 20};
  scenario.host_queue_bytes = 256 * 1024;
  scenario.check_period = 0;
  return scenario;
}

SparseTimes run(Report& report, const SparseSets& sets) {
  sim::Simulation simulation(scenario_of(sets));
  Volume volume(simulation.wiring());
  simulation.observe(&volume);
  const sim::Outcome outcome = simulation.run();
  report.wrong.insert(report.wrong.end(), outcome.wrong.begin(), outcome.wrong.end());
  return {.seconds = static_cast<double>(outcome.finished_at.ns) * 1e-9,
          .sent_bytes = static_cast<double>(volume.sent) / kWorkers,
          .received_bytes = static_cast<double>(volume.received) / kWorkers};
}

// The figures for all densities, sorted by kind.
struct Table {
  explicit Table(std::uint64_t blocks_of_tensor)
      : blocks(blocks_of_tensor),
        dense_bytes(4.0 * kBlockElements * static_cast<double>(blocks_of_tensor)) {}

  void add(Report& report, const Point& point) {
    const SparseSets sets = draw_sets({.blocks = blocks, .density = point.density});
    const double drawn = static_cast<double>(sets.union_blocks) / static_cast<double>(blocks);
    const double expected = union_density(point.density, kWorkers);
    const SparseTimes times = run(report, sets);
    const double efficiency = drawn * dense_bytes / kBytesPerSecond / times.seconds;
    efficiency_least = std::min(efficiency_least, efficiency);
    volume_most = std::max(volume_most, (times.sent_bytes + times.received_bytes) /
                                            (dense_bytes * (point.density + drawn)));
    const double ring_rate = ring_elements_per_second(kLink, kWorkers);
    const double ring_s = dense_bytes / 4 / ring_rate;
    const double bitmap_words = static_cast<double>(blocks) / 32;
    const double union_ring_s = (bitmap_words + drawn * dense_bytes / 4) / ring_rate;

    const auto label = [&](const char* what) {
      return fmt::format("{}, {:g} % zero blocks", what,
                         std::round(1000 * (1 - point.density)) / 10);
    };
    const Basis measured = blocks == kPublishedBlocks ? Basis::published : Basis::none;
    const double their_bound_ms = 1e3 * expected * dense_bytes / kBytesPerSecond;
    report.figures.push_back(
        {label("time"), "ms", measured, point.published_ms, 1e3 * times.seconds, kTime});
    efficiencies.push_back({label("efficiency"), "%", measured,
                            100 * their_bound_ms / point.published_ms, 100 * efficiency, kTime});
    gains.push_back({label("gain over a dense ring"), "times", measured,
                     kPublishedNcclMs / point.published_ms, ring_s / times.seconds, kOverNccl});
    gains.push_back({label("gain over a bitmap and a ring over the union"), "times",
                     blocks == kPublishedBlocks ? Basis::derived : Basis::none,
                     1e3 * union_ring_s / point.published_ms, union_ring_s / times.seconds,
                     kOverUnion});
    volumes.push_back(
        {label("union"), "% of dense", Basis::formula, 100 * expected, 100 * drawn, kUnion});
    volumes.push_back({label("sent"), "% of dense", Basis::formula, 100 * point.density,
                       100 * times.sent_bytes / dense_bytes, kSent});
    volumes.push_back({label("received"), "% of dense", Basis::formula, 100 * expected,
                       100 * times.received_bytes / dense_bytes, kReceived});
  }

  std::uint64_t blocks;
  double dense_bytes;
  double efficiency_least = 1;
  double volume_most = 0;
  std::vector<Figure> efficiencies;
  std::vector<Figure> gains;
  std::vector<Figure> volumes;
};

}  // namespace

double union_density(double density, std::uint32_t workers) {
  return 1 - std::pow(1 - density, workers);
}

Report omnireduce(const OmnireduceOptions& options, const Progress& progress) {
  Report report;
  Table table(options.blocks);
  report.setting = {
      fmt::format("8 workers, 100 Gbit/s, {} of f32 in blocks of 256 at random places, MTU 1500, "
                  "round trip 10 us.",
                  size_text(static_cast<std::uint64_t>(table.dense_bytes))),
      "The authors had eight hosts that sum; each carries as many bytes as a link of the switch "
      "here.",
      "Efficiency: the union's bytes at 12.5 GB/s, over the time. Frames of MTU 1500 allow 93.5 "
      "%."};
  const std::vector<double>& wanted = options.densities;
  const auto is_wanted = [&wanted](const Point& point) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), point.density) != wanted.end();
  };
  Rows rows(progress, static_cast<std::size_t>(std::ranges::count_if(kPoints, is_wanted)));
  for (const Point& point : kPoints) {
    if (!is_wanted(point)) continue;
    rows.begin(fmt::format("{:g} % zero blocks", std::round(1000 * (1 - point.density)) / 10));
    table.add(report, point);
  }
  for (const std::vector<Figure>* part : {&table.efficiencies, &table.gains, &table.volumes}) {
    report.figures.insert(report.figures.end(), part->begin(), part->end());
  }
  report.targets = {
      {fmt::format("efficiency of at least {:.0f} % at every density; found {:.1f} % or more",
                   100 * kEfficiencyMin, 100 * table.efficiency_least),
       table.efficiency_least >= kEfficiencyMin},
      {fmt::format("at most {:.2f} times the bytes of own and union blocks; found {:.3f}",
                   kVolumeMax, table.volume_most),
       table.volume_most <= kVolumeMax}};
  return report;
}

}  // namespace infold::reproduce
