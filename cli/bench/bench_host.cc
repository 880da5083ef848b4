// SPDX-License-Identifier: Apache-2.0
//
// infold bench host: the processor time that one rank needs for a GB of tensor, split into parts.
// Each part is measured alone, on one thread. The last column is the remainder, which only a rank
// in a job spends.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/bench/this_machine.h"
#include "cli/commands.h"
#include "study/desk/interrupt.h"
#include "study/measure/host/host_cost.h"

namespace infold::cli {
namespace {

std::vector<std::string> all_wires() {
  std::vector<std::string> names;
  for (const measure::HostWire& wire : measure::host_wires()) names.emplace_back(wire.name);
  return names;
}

class BenchHost final : public Command {
 public:
  std::string_view name() const override { return "bench host"; }
  std::string_view summary() const override {
    return "Measure one rank's processor time for a GB of tensor, by part, beside its bound";
  }

  void declare(Options& options) override {
    options.choice("--shape", shape_, {"all", "shared", "apart"},
                   "shared: 4 ranks and a switch on two cores; apart: one rank and its switch, a "
                   "core each");
    options.text_list("--format", wires_, "Wire formats of f32: native, bfp32, bfp16, bfp8");
    options.bytes("--bytes", wanted_.job.bytes, {1 << 20, 1'000'000'000}, "Size of the f32 tensor");
    options.whole<std::uint32_t>("--mtu", wanted_.job.mtu, {576, 9000},
                                 "Largest packet of infold in bytes");
    options.whole<unsigned>("--rounds", wanted_.rounds, {1, 100},
                            "Rounds; each round measures every format once");
    options.whole<unsigned>("--iterations", wanted_.job.iterations, {1, 100'000},
                            "Sums in each round");
    options.choice("--rival", rival_, {"auto", "gloo", "none"},
                   "Gloo's ring beside infold; auto measures it where its program was built");
    options.examples(
        "  ./dev bench host\n"
        "  infold bench host --shape apart --mtu 9000 --format native --rival none\n"
        "\n"
        "All processes run on this host, over loopback, on the first two cores that this program\n"
        "may use. All figures but the last two columns are seconds of rank 0's processor time for\n"
        "a GB of tensor, sent and received once:\n"
        "  rank     of a rank in a job, the sum of the next seven columns\n"
        "  encode   encoding and decoding a tensor in the cache; for native, a copy of the result\n"
        "  packets  the worker and its driver\n"
        "  memory   what all take longer with the whole tensor, which lies in memory\n"
        "  copies   the kernel, by the bytes that it copies in and out\n"
        "  calls    system calls and the kernel's path, by the message\n"
        "  cross    what copies take longer because the other process has another core\n"
        "  rest     what remains: wake-ups, switching, caches that other processes use\n"
        "  bound    all bytes that are touched, at the speed of memcpy\n"
        "  of Gloo  the rank's time, divided by that of a rank of Gloo's ring");
  }

  ExitCode run(Output& output) override {
    if (const std::string problem = understand(); !problem.empty()) {
      output.log("infold bench host: {}\n", problem);
      return ExitCode::kBadUsage;
    }
    const desk::InterruptGuard guard;
    try {
      measure::HostJobs jobs;
      wanted_.with_gloo = rival_ == "gloo" || (rival_ == "auto" && jobs.has_gloo());
      if (rival_ == "gloo" && !jobs.has_gloo()) {
        throw std::runtime_error("Gloo's program is missing; ./dev bench host builds it");
      }
      output.text("{}, load {:.1f}\n", this_machine(), load());
      for (const measure::HostShape& shape : measure::host_shapes()) {
        if (shape_ == "all" || shape_ == shape.name) measure(output, jobs, shape);
      }
    } catch (const std::runtime_error& error) {
      output.log("infold bench host: {}\n", error.what());
      return ExitCode::kFailed;
    }
    return ExitCode::kDone;
  }

 private:
  // Checks the options and fills in defaults. Returns an error message, or an empty text.
  std::string understand() {
    wanted_.wires.clear();
    for (const std::string& name : wires_) {
      const auto found = std::ranges::find(measure::host_wires(), name, &measure::HostWire::name);
      if (found == measure::host_wires().end()) {
        return fmt::format("--format: there is no '{}'; choose from {}", name,
                           fmt::join(all_wires(), ", "));
      }
      wanted_.wires.push_back(*found);
    }
    return "";
  }

  void measure(Output& output, measure::HostJobs& jobs, const measure::HostShape& shape) const {
    const std::vector<measure::HostCost> costs = measure::measure_host(
        jobs, shape, wanted_, [&](unsigned round, const std::string& implementation) {
          output.log("{}, round {} of {}, {}\n", shape.name, round, wanted_.rounds, implementation);
        });
    output.text("\n{}: {}\n", shape.name, shape.text);
    output.text("{:<14} {:>6} {:>7} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7} {:>8}\n",
                "s/GB", "rank", "encode", "packets", "memory", "copies", "calls", "cross", "rest",
                "bound", "of Gloo", "Gbit/s");
    for (const measure::HostCost& cost : costs) print(output, shape, cost);
  }

  void print(Output& output, const measure::HostShape& shape, const measure::HostCost& cost) const {
    const double gbps = static_cast<double>(wanted_.job.bytes) * 8 / cost.job.median_ms / 1e6;
    const measure::HostParts parts = cost.parts.value_or(measure::HostParts{});
    std::string row = fmt::format("{:<14} {:>6.3f}", cost.implementation, cost.job.cpu_s_per_gb);
    row += cost.parts
               ? fmt::format(
                     " {:>7.3f} {:>8.3f} {:>7.3f} {:>7.3f} {:>6.3f} {:>6.3f} {:>6.3f} {:>7.3f}",
                     parts.encode_s, parts.packets_s, parts.memory_s, parts.copies_s, parts.calls_s,
                     parts.cross_s, cost.rest_s(), cost.bound_s)
               : std::string(63, ' ');
    row += cost.of_gloo > 0 ? fmt::format(" {:>7.2f}", cost.of_gloo) : std::string(8, ' ');
    output.text("{} {:>8.2f}\n", row, gbps);
    nlohmann::ordered_json object = {{"shape", shape.name},
                                     {"impl", cost.implementation},
                                     {"bytes", wanted_.job.bytes},
                                     {"rounds", wanted_.rounds},
                                     {"cpu_s_per_gb", cost.job.cpu_s_per_gb},
                                     {"median_ms", cost.job.median_ms},
                                     {"p99_ms", cost.job.p99_ms},
                                     {"goodput_mbps", gbps * 1e3}};
    if (cost.of_gloo > 0) object["of_gloo"] = cost.of_gloo;
    if (cost.parts) {
      object.update({{"mtu", wanted_.job.mtu},
                     {"encode_s_per_gb", parts.encode_s},
                     {"packets_s_per_gb", parts.packets_s},
                     {"memory_s_per_gb", parts.memory_s},
                     {"copies_s_per_gb", parts.copies_s},
                     {"calls_s_per_gb", parts.calls_s},
                     {"cross_s_per_gb", parts.cross_s},
                     {"rest_s_per_gb", cost.rest_s()},
                     {"bound_s_per_gb", cost.bound_s},
                     {"cpu_user_s_per_gb", cost.job.cpu_per_gb.user_s},
                     {"cpu_system_s_per_gb", cost.job.cpu_per_gb.system_s},
                     {"packets_sent_together", cost.job.sent_together},
                     {"packets_received_together", cost.job.received_together}});
    }
    output.object(object);
  }

  measure::HostOptions wanted_{.wires = {}, .job = {25 << 20, 1500, 10}, .rounds = 5};
  std::vector<std::string> wires_ = all_wires();
  std::string shape_ = "all";
  std::string rival_ = "auto";
};

}  // namespace

std::unique_ptr<Command> make_bench_host_command() { return std::make_unique<BenchHost>(); }

}  // namespace infold::cli
