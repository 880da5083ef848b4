// SPDX-License-Identifier: Apache-2.0
//
// infold bench drivers: how the rate of one rank depends on its number of drivers, if the network
// and the other ranks cost nothing.

#include <algorithm>
#include <string>
#include <vector>

#include "cli/bench/this_machine.h"
#include "cli/commands.h"
#include "study/measure/host/driver_rates.h"
#include "study/measure/host/host_cost.h"

namespace infold::cli {
namespace {

class BenchDrivers final : public Command {
 public:
  std::string_view name() const override { return "bench drivers"; }
  std::string_view summary() const override {
    return "Measure one rank's rate by its number of drivers, without a network";
  }

  void declare(Options& options) override {
    options.choice("--format", wire_, {"native", "bfp32", "bfp16", "bfp8"}, "Wire format of f32");
    options.bytes("--bytes", wanted_.bytes, {1 << 20, 1'000'000'000}, "Size of the f32 tensor");
    options.whole<std::uint32_t>("--mtu", wanted_.mtu, {576, 9000}, "Largest packet in bytes");
    options.whole<unsigned>("--drivers", wanted_.drivers_max, {1, 64},
                            "Largest number of drivers; the sum has a site for each");
    options.whole<unsigned>("--rounds", wanted_.rounds, {1, 100},
                            "Rounds; each number of drivers has its turn in each");
    options.whole<unsigned>("--iterations", wanted_.iterations, {1, 100'000}, "Sums in each turn");
    options.examples(
        "  infold bench drivers\n"
        "  infold bench drivers --format bfp16 --mtu 9000 --drivers 4\n"
        "\n"
        "The rank is the only one of its job. Each packet comes back at once as its result, in\n"
        "memory of the process. So the rate is that of the rank's own threads:\n"
        "  Gbit/s   of tensor, sent and received once\n"
        "  of one   the rate, divided by that of one driver in the same round\n"
        "  s/GB     processor time of all threads for a GB of tensor");
  }

  ExitCode run(Output& output) override {
    const auto found = std::ranges::find(measure::host_wires(), wire_, &measure::HostWire::name);
    wanted_.layout = {found->format, core::DataType::f32};
    output.text("{}, load {:.1f}\n\n", this_machine(), load());
    output.text("{:<8} {:>8} {:>8} {:>8}\n", "drivers", "Gbit/s", "of one", "s/GB");
    for (const measure::DriverRate& rate : measure::measure_drivers(wanted_)) {
      output.text("{:<8} {:>8.2f} {:>8.2f} {:>8.3f}\n", rate.drivers, rate.gbps, rate.of_one,
                  rate.cpu_s_per_gb);
      output.object({{"drivers", rate.drivers},
                     {"wire", wire_},
                     {"bytes", wanted_.bytes},
                     {"mtu", wanted_.mtu},
                     {"rounds", wanted_.rounds},
                     {"gbps", rate.gbps},
                     {"of_one", rate.of_one},
                     {"cpu_s_per_gb", rate.cpu_s_per_gb}});
    }
    return ExitCode::kDone;
  }

 private:
  measure::DriverRatesOptions wanted_;
  std::string wire_ = "native";
};

}  // namespace

std::unique_ptr<Command> make_bench_drivers_command() { return std::make_unique<BenchDrivers>(); }

}  // namespace infold::cli
