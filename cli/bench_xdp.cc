// SPDX-License-Identifier: Apache-2.0
//
// infold bench xdp: what one full packet costs the aggregator in the kernel.

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/xdp_cost.h"

namespace infold::cli {
namespace {

class BenchXdp final : public Command {
 public:
  std::string_view name() const override { return "bench xdp"; }
  std::string_view summary() const override {
    return "Measure what a full packet of MTU 1500 costs the aggregator in the kernel";
  }

  void declare(Options& options) override {
    options.choice("--wire", wire_, {"all", "i32", "bfp32", "bfp16", "bfp8"}, "The wire format");
    options.whole<std::uint32_t>("--packets", packets_, {100, 10'000'000},
                                 "Packets in each of the 21 samples");
    options.examples(
        "  infold bench xdp\n"
        "  infold bench xdp --wire bfp32 --json");
  }

  ExitCode run(Output& output) override {
    output.text("{:<6} {:<8} {:>7} {:>8} {:>7}  {}\n", "wire", "packet", "ns min", "median", "MAD",
                "what happens");
    for (const BenchWire& wire : bench_wires()) {
      if (wire_ != "all" && wire_ != wire.name) continue;
      const auto measured = measure_xdp(wire, packets_, [&](const XdpCost& cost) {
        output.text("{:<6} {:<8} {:>7.0f} {:>8.0f} {:>7.0f}  {}\n", wire.name, cost.packet,
                    cost.ns_min, cost.ns_median, cost.ns_mad, cost.meaning);
        output.object({{"wire", wire.name},
                       {"packet", cost.packet},
                       {"ns_min", cost.ns_min},
                       {"ns_median", cost.ns_median},
                       {"mad_ns", cost.ns_mad}});
      });
      if (measured) continue;
      output.log("infold bench xdp: {} (error {})\n", measured.error().detail,
                 measured.error().value);
      return ExitCode::kFailed;
    }
    return ExitCode::kDone;
  }

 private:
  std::string wire_ = "all";
  std::uint32_t packets_ = 20000;
};

}  // namespace

std::unique_ptr<Command> make_bench_xdp_command() { return std::make_unique<BenchXdp>(); }

}  // namespace infold::cli
