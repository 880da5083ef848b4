// SPDX-License-Identifier: Apache-2.0
//
// infold bench xdp: the cost of one full packet in the kernel's aggregator.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "study/measure/cost/xdp_cost.h"
#include "study/measure/cost/xdp_network.h"

namespace infold::cli {
namespace {

class BenchXdp final : public Command {
 public:
  std::string_view name() const override { return "bench xdp"; }
  std::string_view summary() const override {
    return "Measure what a packet of MTU 1500 costs the aggregator in the kernel";
  }

  void declare(Options& options) override {
    options.choice("--format", wire_,
                   {"all", "i32", "bfp32", "bfp16", "bfp8", "f32", "f16", "bf16"},
                   "The wire format; the last three are of format native");
    options.whole<std::uint32_t>("--packets", packets_, {100, 10'000'000},
                                 "Packets in each of the 21 samples");
    options.flag("--network", network_,
                 "Measure in a network lab, beside programs that return and drop packets");
    options.whole<std::uint16_t>("--ranks", world_, {1, 64}, "Number of ranks in the lab");
    options.need("--ranks", "--network");
    options.examples(
        "  infold bench xdp\n"
        "  infold bench xdp --network\n"
        "  infold bench xdp --format bfp32 --json");
  }

  ExitCode run(Output& output) override {
    return network_ ? measure_network(output) : measure_runs(output);
  }

 private:
  bool is_wanted(const measure::BenchWire& wire) const {
    return wire_ == "all" || wire_ == wire.name;
  }

  ExitCode measure_runs(Output& output) const {
    output.text("{:<6} {:<9} {:>7} {:>8} {:>7}  {}\n", "wire", "packet", "ns min", "median", "MAD",
                "what happens");
    for (const measure::BenchWire& wire : measure::bench_wires()) {
      if (!is_wanted(wire)) continue;
      const auto measured = measure::measure_xdp(wire, packets_, [&](const measure::XdpCost& cost) {
        print_cost(output, wire.name, cost);
      });
      if (!measured) return fail(output, measured.error());
    }
    if (wire_ != "all") return ExitCode::kDone;
    const auto measured = measure::measure_xdp_without_elements(
        packets_, [&](const measure::XdpCost& cost) { print_cost(output, "any", cost); });
    return measured ? ExitCode::kDone : fail(output, measured.error());
  }

  static void print_cost(Output& output, const char* wire, const measure::XdpCost& cost) {
    output.text("{:<6} {:<9} {:>7.0f} {:>8.0f} {:>7.0f}  {}\n", wire, cost.packet, cost.ns_min,
                cost.ns_median, cost.ns_mad, cost.meaning);
    output.object({{"wire", wire},
                   {"packet", cost.packet},
                   {"ns_min", cost.ns_min},
                   {"ns_median", cost.ns_median},
                   {"mad_ns", cost.ns_mad}});
  }

  static ExitCode fail(Output& output, const base::Error& error) {
    output.log("infold bench xdp: {} (error {})\n", error.detail, error.value);
    return ExitCode::kFailed;
  }

  ExitCode measure_network(Output& output) const {
    std::vector<measure::BenchWire> wires;
    for (const measure::BenchWire& wire : measure::bench_wires()) {
      if (is_wanted(wire)) wires.push_back(wire);
    }
    measure::XdpNetworkOptions options;
    options.world = world_;
    // A sample has as many packets here as in the kernel's test-run.
    options.rounds = std::max<std::uint32_t>(10, packets_ / (32 * world_));
    output.text("{:<8} {:>9} {:>6} {:>12} {:>10}\n", "program", "ns median", "MAD", "packets/s",
                "of bounce");
    try {
      measure::measure_xdp_network(options, wires, [&](const measure::XdpNetworkCost& cost) {
        output.text("{:<8} {:>9.0f} {:>6.0f} {:>12.0f} {:>10.2f}\n", cost.program, cost.ns_median,
                    cost.ns_mad, cost.packets_per_second, cost.of_bounce);
        output.object({{"program", cost.program},
                       {"ns_median", cost.ns_median},
                       {"mad_ns", cost.ns_mad},
                       {"packets_per_second", cost.packets_per_second},
                       {"of_bounce", cost.of_bounce}});
      });
    } catch (const std::runtime_error& error) {
      output.log("infold bench xdp: {}\n", error.what());
      return ExitCode::kFailed;
    }
    return ExitCode::kDone;
  }

  std::string wire_ = "all";
  std::uint32_t packets_ = 20000;
  std::uint16_t world_ = 8;
  bool network_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_xdp_command() { return std::make_unique<BenchXdp>(); }

}  // namespace infold::cli
