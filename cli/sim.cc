// SPDX-License-Identifier: Apache-2.0
//
// infold sim: runs the real state machines on a virtual network in virtual time. It runs one
// scenario by seed or by name, a swarm of seeds, or a benchmark of the simulator itself.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/line/progress.h"
#include "cli/line/quantity.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/swarm.h"
#include "study/sim/scenario/draw.h"
#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"
#include "study/sim/trace.h"

namespace infold::cli {
namespace {

constexpr std::uint64_t kReportsOfSwarm = 10;

// A failed CHECK ends the process at once. This handler prints the seed first.
extern "C" void tell_seed_and_die(int) {
  char text[96] = "repeat with: infold sim --seed ";
  std::size_t length = 31;
  char digits[20];
  std::size_t count = 0;
  std::uint64_t seed = measure::seed_of_this_thread();
  for (; seed > 0; seed /= 10) digits[count++] = static_cast<char>('0' + seed % 10);
  if (count == 0) _exit(1);
  while (count > 0) text[length++] = digits[--count];
  text[length++] = '\n';
  const auto written = write(STDERR_FILENO, text, length);
  _exit(written < 0 ? 2 : 1);
}

nlohmann::ordered_json to_json(const sim::Scenario& scenario, const sim::Outcome& outcome) {
  nlohmann::ordered_json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["passed"] = outcome.passed();
  json["wrong"] = outcome.wrong;
  json["virtual_ns"] = outcome.finished_at.ns;
  json["packets_sent"] = outcome.network.sent;
  json["packets_useful"] = outcome.useful_packets;
  json["packets_arrived"] = outcome.network.arrived;
  nlohmann::ordered_json dropped;
  for (std::size_t i = 0; i < outcome.network.dropped.size(); ++i) {
    dropped[sim::drop_cause_name(static_cast<sim::DropCause>(i))] = outcome.network.dropped[i];
  }
  json["packets_dropped"] = dropped;
  json["resent_timeout"] = outcome.workers.resent_timeout;
  json["asked_overtaken"] = outcome.workers.asked_overtaken;
  json["resent_asked"] = outcome.workers.resent_asked;
  json["sent_query"] = outcome.workers.sent_query;
  json["realigned"] = outcome.workers.received_realign;
  json["packets_high_water"] = outcome.packets_high_water;
  json["queue_bytes_high_water"] = outcome.queue_bytes_high_water;
  json["memory_bytes"] = outcome.memory_bytes;
  json["hash"] = fmt::format("{:016x}", outcome.hash);
  return json;
}

void print_outcome(Output& output, const sim::Outcome& outcome) {
  std::uint64_t dropped = 0;
  for (const std::uint64_t each : outcome.network.dropped) dropped += each;
  output.text("  finished after {} ns of virtual time\n", outcome.finished_at.ns);
  output.text("  packets: {} sent ({} needed), {} dropped, at most {} under way at a time\n",
              outcome.network.sent, outcome.useful_packets, dropped, outcome.packets_high_water);
  output.text("  retransmits: {} after a timeout, {} on request; {} queries; {} realigned\n",
              outcome.workers.resent_timeout, outcome.workers.resent_asked,
              outcome.workers.sent_query, outcome.workers.received_realign);
  output.text("  hash {:016x}\n", outcome.hash);
}

class Sim final : public Command {
 public:
  std::string_view name() const override { return "sim"; }
  std::string_view summary() const override {
    return "Run the protocol on a virtual network with every fault, in virtual time";
  }

  void declare(Options& options) override {
    std::vector<std::string> names;
    for (const auto& named : sim::scenario_names()) names.emplace_back(named.name);
    options.whole<std::uint64_t>("--seed", seed_, {1, kSeedMax},
                                 "Seed of the run; decides everything that is random");
    options.whole<std::uint64_t>("--swarm", swarm_, {0, 1'000'000'000},
                                 "Run this many seeds; exit status 1 if one fails");
    options.whole<std::uint64_t>("--first-seed", first_seed_, {1, kSeedMax},
                                 "First seed of the swarm");
    options.whole<std::uint32_t>("--jobs", jobs_, {0, 256},
                                 "Threads of the swarm; 0 takes one for each core");
    options.choice("--scenario", scenario_, names,
                   "Run a named scenario, in place of one drawn from the seed");
    declare_overrides(options);
    options.flag("--trace", trace_, "Print every packet event of the run");
    options.examples(
        "  infold sim --seed 7                         repeat one run, for instance a failed one\n"
        "  infold sim --swarm 10000                    run seeds 1 to 10000 on all cores\n"
        "  infold sim --scenario tree --ranks 16 --loss 0.05\n"
        "  infold sim --scenario tree --ranks 1000 --fan-out 32 --loss 0 --bulk --elements "
        "250000\n"
        "  infold sim --scenario loss --elements 704 --trace\n");
    options.flag("--bench", bench_,
                 "Measure the simulator's speed: packet events per second and core");
    // Options that a run would ignore.
    for (const char* const of_scenario : kOverrides) options.need(of_scenario, "--scenario");
    for (const char* const of_swarm : {"--first-seed", "--jobs"}) {
      options.need(of_swarm, "--swarm");
    }
    for (const char* const other : {"--seed", "--scenario", "--trace", "--bench"}) {
      options.exclude("--swarm", other);
    }
    for (const char* const other : {"--scenario", "--trace"}) options.exclude("--bench", other);
  }

  ExitCode run(Output& output) override {
    std::signal(SIGABRT, tell_seed_and_die);
    if (rate_ > 0 && rate_ < kRateMin) {
      output.log("infold sim: --link must be 0, or a rate from {} to {}, not {}\n",
                 short_rate(kRateMin), short_rate(kRateMax), short_rate(rate_));
      return ExitCode::kBadUsage;
    }
    if (bench_) return run_bench(output);
    if (swarm_ > 0) return run_swarm(output);
    const std::string reason = scenario_.empty() ? "" : sim::reason_against(scenario_, named_);
    if (!reason.empty()) {
      output.log("infold sim: {}; see --ranks, --depth, --fan-out, --sites and --bulk\n", reason);
      return ExitCode::kBadUsage;
    }
    return run_one(output);
  }

 private:
  static constexpr std::uint64_t kSeedMax = ~std::uint64_t{0} >> 1;
  static constexpr double kRateMin = 1e6;
  static constexpr double kRateMax = 400e9;
  static constexpr const char* kOverrides[] = {
      "--ranks", "--elements",  "--sites",   "--depth",   "--fan-out", "--bulk",  "--format",
      "--loss",  "--duplicate", "--reorder", "--corrupt", "--link",    "--rtt-us"};

  void declare_overrides(Options& options) {
    options.whole<std::uint16_t>("--ranks", named_.workers, {0, sim::kRanksMax},
                                 "Number of ranks of the named scenario; 0 keeps its own");
    options.whole<std::uint64_t>("--elements", named_.elements, {0, 100'000'000},
                                 "Elements of the scenario's large tensor; 0 keeps its own");
    options.whole<std::uint32_t>("--sites", named_.sites, {0, 4},
                                 "Number of sites; 0 keeps the scenario's own");
    options.whole<std::uint32_t>("--depth", named_.depth, {0, 3},
                                 "Levels of each site's tree; 0 keeps the scenario's own");
    options.whole<std::uint32_t>(
        "--fan-out", named_.fan_out, {0, INFOLD_WORKERS_MAX},
        "Children of each aggregator above a tree's last level; 0 takes 2");
    options.flag("--bulk", named_.bulk,
                 "Let all ranks share the large tensor, whose sum is then not compared; for "
                 "tensors that do not fit memory once for each rank");
    options.choice("--format", named_.format,
                   {"i32", "bfp8", "bfp16", "bfp32", "native", "agreed", "digits", "compressed"},
                   "Wire format of the scenario's large tensor");
    options.real("--loss", loss_, {0, 0.3}, "Packet loss each way; else the scenario's own");
    options.real("--duplicate", duplicate_, {0, 0.5},
                 "Share of duplicates; else the scenario's own");
    options.real("--reorder", reorder_, {0, 1},
                 "Share of packets held back; else the scenario's own");
    options.real("--corrupt", corrupt_, {0, 0.3},
                 "Share of damaged packets; else the scenario's own");
    options.rate("--link", rate_, {0, kRateMax},
                 "Rate of the links in bits per second, 1M or more; 0 keeps the scenario's own");
    options.whole<std::uint64_t>("--rtt-us", rtt_us_, {0, 1'000'000},
                                 "Round-trip time in microseconds; 0 keeps its own");
  }

  sim::Scenario chosen() {
    if (scenario_.empty()) return sim::draw_scenario(seed_);
    named_.loss = loss_.value_or(named_.loss);
    named_.duplicate = duplicate_.value_or(named_.duplicate);
    named_.reorder = reorder_.value_or(named_.reorder);
    named_.corrupt = corrupt_.value_or(named_.corrupt);
    named_.bits_per_second = static_cast<std::int64_t>(rate_);
    named_.round_trip = base::microseconds(static_cast<std::int64_t>(rtt_us_));
    return sim::named_scenario(scenario_, seed_, named_).value();
  }

  ExitCode run_one(Output& output) {
    const sim::Scenario scenario = chosen();
    output.text("{}", sim::describe(scenario));
    sim::Simulation simulation(scenario);
    sim::Trace trace(simulation.wiring(),
                     output.json() ? sim::Trace::Style::json : sim::Trace::Style::text,
                     [&output](const std::string& line) {
                       if (output.json()) {
                         output.object(nlohmann::ordered_json::parse(line));
                       } else {
                         output.text("{}\n", line);
                       }
                     });
    if (trace_) simulation.observe(&trace);
    const sim::Outcome outcome = simulation.run();
    output.object(to_json(scenario, outcome));
    print_outcome(output, outcome);
    for (const std::string& wrong : outcome.wrong) output.log("WRONG: {}\n", wrong);
    output.text("{}\n", outcome.passed() ? "passed" : "FAILED");
    return outcome.passed() ? ExitCode::kDone : ExitCode::kFailed;
  }

  ExitCode run_swarm(Output& output) {
    const std::uint32_t jobs =
        jobs_ > 0 ? jobs_ : std::max(1U, std::thread::hardware_concurrency());
    ProgressLine progress(output, swarm_, kReportsOfSwarm);
    const auto start = std::chrono::steady_clock::now();
    const measure::SwarmResult result = measure::run_swarm(
        {.first_seed = first_seed_, .seed_count = swarm_, .job_count = jobs},
        [&](std::uint64_t runs, std::uint64_t failures) {
          progress.show(runs, fmt::format("{} of {} runs, {} failed", runs, swarm_, failures));
          return true;
        });
    progress.end();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (const auto& failure : result.failures) {
      nlohmann::ordered_json json;
      json["seed"] = failure.seed;
      json["wrong"] = failure.wrong;
      json["repeat"] = fmt::format("infold sim --seed {}", failure.seed);
      output.object(json);
      output.text("seed {} failed: {}\n  repeat with: infold sim --seed {}\n", failure.seed,
                  failure.wrong.front(), failure.seed);
    }
    nlohmann::ordered_json json;
    json["runs"] = result.runs;
    json["failed"] = result.failures.size();
    json["packets_sent"] = result.packets_sent;
    json["seconds"] = took.count();
    json["hash"] = fmt::format("{:016x}", result.hash);
    output.object(json);
    output.text("{} runs, {} failed, {} packets sent, {:.1f} s, hash {:016x}\n", result.runs,
                result.failures.size(), result.packets_sent, took.count(), result.hash);
    return result.failures.empty() ? ExitCode::kDone : ExitCode::kFailed;
  }

  ExitCode run_bench(Output& output);

  std::uint64_t seed_ = 1;
  std::uint64_t swarm_ = 0;
  std::uint64_t first_seed_ = 1;
  std::uint32_t jobs_ = 0;
  std::string scenario_;
  sim::NamedOptions named_;
  std::optional<double> loss_;
  std::optional<double> duplicate_;
  std::optional<double> reorder_;
  std::optional<double> corrupt_;
  double rate_ = 0;
  std::uint64_t rtt_us_ = 0;
  bool trace_ = false;
  bool bench_ = false;
};

// A packet event is one packet that a worker or an aggregator takes and answers. Its cost includes
// links, faults, timers, state machines, checkers and the hash.
ExitCode Sim::run_bench(Output& output) {
  constexpr std::uint64_t kElements = 352 * 8'192;  // 12 MB, shared by all ranks
  constexpr int kRuns = 7;
  for (const char* name : {"clean", "loss", "tree"}) {
    for (const char* format : {"i32", "bfp32"}) {
      sim::NamedOptions options;
      options.workers = 8;
      options.elements = kElements;
      options.format = format;
      sim::Scenario scenario = sim::named_scenario(name, seed_, options).value();
      scenario.calls[1].bulk = true;
      scenario.check_period = 0;
      std::vector<double> rates;
      sim::NetworkCounters counters;
      std::uint32_t packets_high_water = 0;
      for (int i = 0; i < kRuns; ++i) {
        sim::Simulation simulation(scenario);
        const double start = measure::process_s();
        simulation.run_network();
        counters = simulation.wiring().network->counters();
        packets_high_water = simulation.wiring().network->packets().high_water();
        rates.push_back(static_cast<double>(counters.arrived) / (measure::process_s() - start));
      }
      std::sort(rates.begin(), rates.end());
      const double median = rates[kRuns / 2];
      nlohmann::ordered_json json;
      json["benchmark"] = "sim";
      json["scenario"] = name;
      json["format"] = format;
      json["packet_events"] = counters.arrived;
      json["packet_events_per_second"] = median;
      json["packet_events_per_second_max"] = rates.back();
      json["hops_per_packet_event"] =
          static_cast<double>(counters.hops) / static_cast<double>(counters.arrived);
      json["packets_high_water"] = packets_high_water;
      output.object(json);
      output.text("{:<6} {:<6} {:.2f} million packet events per second and core (best {:.2f})\n",
                  name, format, median / 1e6, rates.back() / 1e6);
    }
  }
  return ExitCode::kDone;
}

}  // namespace

std::unique_ptr<Command> make_sim_command() { return std::make_unique<Sim>(); }

}  // namespace infold::cli
