// SPDX-License-Identifier: Apache-2.0
//
// infold bench core: the cost of one packet in the real state machines, without I/O. The packets
// are full ones for an MTU of 1500, and the working set stays in cache. Prepared packets stand in
// for the machine at the other end.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cli/commands.h"
#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"
#include "numeric/codec.h"
#include "study/measure/cost/allocation_count.h"
#include "study/measure/cost/bench_packets.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"

namespace infold::cli {
namespace {

using core::ElementLayout;

constexpr std::uint16_t kSlots = 8;  // few enough for slots and packets to fit in the L2 cache
constexpr std::size_t kSamples = 21;

struct Timing {
  double median_ns = 0;
  double mad_ns = 0;
  std::uint64_t allocations = 0;
};

// Runs `batch` once for each sample. `batch` handles `packets` packets, and the reported figures
// are per packet.
Timing measure(std::size_t packets, const std::function<void()>& batch) {
  batch();  // fills caches and windows
  std::vector<double> samples;
  const std::uint64_t allocations_before = measure::allocation_count();
  samples.reserve(kSamples);
  const std::uint64_t own_allocations = measure::allocation_count() - allocations_before;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const double start = measure::thread_s();
    batch();
    samples.push_back((measure::thread_s() - start) * 1e9 / static_cast<double>(packets));
  }
  Timing timing;
  timing.allocations = measure::allocation_count() - allocations_before - own_allocations;
  const measure::Spread spread = measure::spread_of(std::move(samples));
  timing.median_ns = spread.median;
  timing.mad_ns = spread.mad;
  return timing;
}

// Feeds the contributions of all workers to one slot after another. The aggregator adds them,
// completes each slot and answers.
Timing bench_aggregator(ElementLayout layout, std::uint16_t workers, std::size_t packets_wanted,
                        measure::BenchValues values) {
  core::Aggregator aggregator(plan::aggregator_options(measure::bench_plan(workers, kSlots), 0, 0));

  std::vector<std::vector<std::byte>> contributions;
  for (std::uint16_t rank = 0; rank < workers; ++rank) {
    contributions.push_back(measure::make_bench_contribution(layout, rank, values));
  }

  std::uint32_t round = 0;
  const std::size_t rounds = std::max<std::size_t>(1, packets_wanted / (kSlots * workers));
  const auto batch = [&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      ++round;
      for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
        for (std::vector<std::byte>& datagram : contributions) {
          const infold_be16 wire_slot = infold_to_be16(slot);
          const infold_be32 wire_round = infold_to_be32(round);
          std::memcpy(&datagram[offsetof(infold_header, slot)], &wire_slot, sizeof(wire_slot));
          std::memcpy(&datagram[offsetof(infold_header, round)], &wire_round, sizeof(wire_round));
          const core::Verdict verdict = aggregator.handle_datagram(datagram);
          CHECK(verdict == core::Verdict::contributed || verdict == core::Verdict::completed);
          while (aggregator.poll_transmit()) {
          }
        }
      }
    }
  };
  const Timing timing = measure(rounds * kSlots * workers, batch);
  CHECK_THAT(aggregator.counters()[static_cast<std::size_t>(core::Verdict::completed)], ==,
             std::uint64_t{round} * kSlots);
  return timing;
}

// One worker streams a tensor. A prepared result answers each contribution.
Timing bench_worker(ElementLayout layout, std::size_t packets_wanted) {
  constexpr std::uint16_t kChunks = 4 * kSlots;
  // The tensor divides into full packets, and it is too small for an announcement.
  const core::WorkerOptions options = plan::worker_options(measure::bench_plan(1, kChunks), 0);
  core::Worker worker(options);

  const std::uint32_t elements = core::chunk_elements(layout, options.limits);
  const std::vector<std::byte> input = measure::make_bench_tensor(layout, kChunks * elements, 1);
  std::vector<std::byte> output(input.size());
  std::vector<std::byte> datagram(measure::kBenchDatagramBytes);
  base::Instant now;

  core::TransferRequest request;
  request.layout = layout;
  request.elements = kChunks * elements;
  request.codec = &measure::bench_codec(layout);
  request.input = input.data();
  request.output = output.data();
  const std::size_t transfers = std::max<std::size_t>(1, packets_wanted / (2 * kChunks));
  const auto batch = [&] {
    for (std::size_t i = 0; i < transfers; ++i) {
      CHECK(worker.submit(now, request).has_value());
      for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
        const auto transmit = worker.poll_transmit(now, datagram);
        CHECK(transmit.has_value());
        datagram[1] =
            // The worker's own packet serves as the result, because the sum has only this
            // contribution.
            std::byte{INFOLD_VERSION << 4 | INFOLD_KIND_RESULT};
        now = now + base::microseconds(1);
        worker.handle_datagram(now, 0, std::span(datagram).first(transmit->bytes));
        CHECK(worker.poll_timeout().has_value() || worker.in_flight() == 0);
      }
      const auto event = worker.poll_event();
      CHECK(event.has_value() && !event->failure);
    }
  };
  const Timing timing = measure(transfers * kChunks * 2, batch);
  CHECK_THAT(worker.counters().dropped_unexpected, ==, 0);
  return timing;
}

class BenchCore final : public Command {
 public:
  std::string_view name() const override { return "bench core"; }
  std::string_view summary() const override {
    return "Measure what a full packet of MTU 1500 costs a worker and an aggregator";
  }

  void declare(Options& options) override {
    options.choice("--role", role_, {"all", "aggregator", "worker"}, "State machine to measure");
    options.choice("--format", wire_,
                   {"all", "i32", "bfp32", "bfp16", "bfp8", "f32", "f16", "bf16"},
                   "The wire format; the last three are of format native");
    options.whole<std::uint16_t>("--ranks", workers_, {1, INFOLD_WORKERS_MAX},
                                 "Contributions per chunk at the aggregator");
    options.choice("--values", values_, {"usual", "hostile"},
                   "Numbers at the aggregator; the exact sum of hostile ones needs integers");
    options.whole<std::uint32_t>("--packets", packets_, {1000, 100'000'000},
                                 "Packets in each of the 21 samples");
    options.examples(
        "  infold bench core --role aggregator --format f32 --values hostile\n"
        "  infold bench core --ranks 64 --json");
  }

  ExitCode run(Output& output) override {
    output.text("{:<11} {:<6} {:>14} {:>8} {:>12}\n", "role", "wire", "ns per packet", "MAD",
                "allocations");
    std::uint64_t allocations = 0;
    for (const char* role : {"aggregator", "worker"}) {
      for (const measure::BenchWire& wire : measure::bench_wires()) {
        if (role_ != "all" && role_ != role) continue;
        if (wire_ != "all" && wire_ != wire.name) continue;
        const bool aggregates = std::string_view(role) == "aggregator";
        const measure::BenchValues values =
            values_ == "hostile" ? measure::BenchValues::hostile : measure::BenchValues::usual;
        const Timing timing = aggregates ? bench_aggregator(wire.layout, workers_, packets_, values)
                                         : bench_worker(wire.layout, packets_);
        print(output, role, wire, timing);
        allocations += timing.allocations;
      }
    }
    if (allocations == 0) return ExitCode::kDone;
    output.log("infold bench core: a machine allocated after its setup; this is a bug\n");
    return ExitCode::kFailed;
  }

 private:
  void print(Output& output, const char* role, const measure::BenchWire& wire,
             const Timing& timing) const {
    output.text("{:<11} {:<6} {:>14.1f} {:>8.1f} {:>12}\n", role, wire.name, timing.median_ns,
                timing.mad_ns, timing.allocations);
    output.object({{"role", role},
                   {"wire", wire.name},
                   {"workers", workers_},
                   {"values", values_},
                   {"kernels", numeric::kernels().name},
                   {"ns_per_packet", timing.median_ns},
                   {"mad_ns", timing.mad_ns},
                   {"allocations", timing.allocations}});
  }

  std::string role_ = "all";
  std::string wire_ = "all";
  std::string values_ = "usual";
  std::uint16_t workers_ = 8;
  std::uint32_t packets_ = 20000;
};

}  // namespace

std::unique_ptr<Command> make_bench_core_command() { return std::make_unique<BenchCore>(); }

}  // namespace infold::cli
