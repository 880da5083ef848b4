// SPDX-License-Identifier: Apache-2.0
//
// infold trace replay: one rank that replays its trace over the network, and prints its step times
// beside the recorded ones.

#include "study/measure/replay/trace_replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "cli/line/quantity.h"
#include "cli/trace/read_traces.h"
#include "study/desk/interrupt.h"
#include "study/measure/cost/spread.h"
#include "trace/call_shape.h"
#include "trace/trace_file.h"

namespace infold::cli {
namespace {

double ms(double ns) { return ns / 1e6; }

class TraceReplay final : public Command {
 public:
  std::string_view name() const override { return "trace replay"; }
  std::string_view summary() const override {
    return "Replay one rank's trace over the network, and compare its step times";
  }

  void declare(Options& options) override {
    options.path("file", file_, "Chakra trace of this rank, such as trace.0.et");
    options.require("file");
    join_.declare(options);
    options.choice("--format", wire_, wire_names(), "Wire format of floats that are summed");
    options.whole<std::uint64_t>("--seed", seed_, {0, 1'000'000'000}, "Seed of the data");
    options.examples(
        "  infold trace replay trace.0.et --switch 10.0.0.1:7700 --rank 0 --ranks 4\n"
        "  infold trace replay trace.1.et --switch 10.0.0.1:7700 --rank 1 --ranks 4 --json");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    const desk::InterruptStop stop(guard);
    const auto trace = trace::read(file_);
    if (!trace) return fail(output, trace.error(), status_of_bad({&file_, 1}));
    auto options = join_.complete();
    if (!options) return fail(output, options.error().message, ExitCode::kBadUsage);
    if (const auto problem = find_problem(*trace, *options)) {
      return fail(output, file_ + ": " + *problem);
    }
    if (const auto problem = join_groups(*trace, *options, stop.token())) {
      return fail(output, *problem);
    }
    const auto replayed = measure::replay(
        *trace, [this](const std::string& group) -> Communicator& { return groups_.at(group); },
        {.seed = seed_, .wire = wire_of(wire_), .stop = stop.token()});
    if (!replayed) return fail(output, file_ + ": " + replayed.error());
    print(output, options->rank, *replayed);
    return ExitCode::kDone;
  }

 private:
  static ExitCode fail(Output& output, const std::string& reason,
                       ExitCode code = ExitCode::kFailed) {
    output.log("infold trace replay: {}\n", reason);
    return code;
  }

  static std::optional<std::string> find_problem(const trace::Trace& trace,
                                                 const JoinOptions& options) {
    const auto rank = static_cast<std::uint64_t>(options.rank);
    const auto world = static_cast<std::uint64_t>(options.world);
    if (trace.rank().value_or(rank) != rank) {
      return fmt::format("the trace is of rank {}, and --rank is {}", *trace.rank(), rank);
    }
    if (trace.world().value_or(world) != world) {
      return fmt::format("the trace is of {} ranks, and --ranks is {}", *trace.world(), world);
    }
    const std::vector<std::string> groups = trace::groups_of(trace);
    for (const std::string& group : groups) {
      const std::vector<std::int64_t> ranks = trace::ranks_of_group(trace, group);
      const std::string shown = trace::printable(group);
      const bool has_all = ranks.empty() || ranks.size() == world;
      if (options.switches.empty() && (groups.size() > 1 || !has_all)) {
        return fmt::format("group '{}' is one of several, and each needs a job; name a --switch",
                           shown);
      }
      if (ranks.size() > world) {
        return fmt::format("group '{}' has {} ranks, and --ranks is {}", shown, ranks.size(),
                           world);
      }
      if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), options.rank) == ranks.end()) {
        return fmt::format("rank {} makes calls of group '{}', to which it does not belong", rank,
                           shown);
      }
    }
    return trace::find_unplayable(
        trace, [&](const std::string& group) { return world_of(trace, group, options); });
  }

  static int world_of(const trace::Trace& trace, const std::string& group,
                      const JoinOptions& options) {
    const std::size_t ranks = trace::ranks_of_group(trace, group).size();
    return ranks == 0 ? options.world : static_cast<int>(ranks);
  }

  // Each group becomes a job whose name includes the group's, because other ranks may have other
  // groups. Without a switch, the only group contains all ranks and is the job itself. All ranks
  // join in the order of names, so that no two ranks wait for each other.
  std::optional<std::string> join_groups(const trace::Trace& trace, const JoinOptions& options,
                                         const std::stop_token& stop) {
    for (const std::string& name : trace::groups_of(trace)) {
      JoinOptions own = options;
      own.use_environment = false;
      own.stop = stop;
      own.wire = wire_of(wire_);
      const std::vector<std::int64_t> ranks = trace::ranks_of_group(trace, name);
      if (!options.switches.empty()) own.job += "/" + trace::printable(name);
      if (!ranks.empty()) {
        const auto at = std::find(ranks.begin(), ranks.end(), options.rank);
        own.rank = static_cast<int>(at - ranks.begin());
        own.world = static_cast<int>(ranks.size());
      }
      if (own.world == 1) {
        return fmt::format("group '{}' has one rank; take its collectives out of the trace",
                           trace::printable(name));
      }
      auto joined = JoinFlags::join(own);
      if (!joined) return joined.error().message;
      groups_.emplace(name, std::move(*joined));
    }
    return std::nullopt;
  }

  static void print(Output& output, int rank, const measure::ReplayReport& report) {
    std::vector<double> recorded;
    std::vector<double> replayed;
    for (const measure::ReplayedStep& step : report.steps) {
      recorded.push_back(static_cast<double>(step.recorded_ns));
      replayed.push_back(static_cast<double>(step.replayed_ns));
      output.object({{"event", "step"},
                     {"rank", rank},
                     {"step", step.number},
                     {"recorded_ns", step.recorded_ns},
                     {"replayed_ns", step.replayed_ns}});
    }
    const auto recorded_ns = static_cast<double>(report.recorded_ns);
    const auto replayed_ns = static_cast<double>(report.replayed_ns);
    output.text("rank {}: {} collectives, {}\n", rank, report.calls, short_bytes(report.bytes));
    output.text("  {:<12} {:>12} {:>12} {:>8}\n", "", "recorded ms", "replayed ms", "ratio");
    print_row(output, "whole run", recorded_ns, replayed_ns);
    if (!recorded.empty()) {
      print_row(output, "median step", measure::spread_of(recorded).median,
                measure::spread_of(replayed).median);
    }
    output.object({{"event", "result"},
                   {"rank", rank},
                   {"calls", report.calls},
                   {"bytes", report.bytes},
                   {"recorded_ns", report.recorded_ns},
                   {"replayed_ns", report.replayed_ns}});
  }

  static void print_row(Output& output, const char* what, double recorded_ns, double replayed_ns) {
    output.text("  {:<12} {:>12.3f} {:>12.3f} {:>8.3f}\n", what, ms(recorded_ns), ms(replayed_ns),
                recorded_ns > 0 ? replayed_ns / recorded_ns : 0);
  }

  JoinFlags join_;
  std::string file_;
  std::string wire_ = "automatic";
  std::uint64_t seed_ = 1;
  std::map<std::string, Communicator> groups_;
};

}  // namespace

std::unique_ptr<Command> make_trace_replay_command() { return std::make_unique<TraceReplay>(); }

}  // namespace infold::cli
