// SPDX-License-Identifier: Apache-2.0
//
// infold trace show: summarises a trace in numbers.

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/line/quantity.h"
#include "cli/trace/read_traces.h"
#include "trace/trace_check.h"
#include "trace/trace_file.h"
#include "trace/views/summary.h"

namespace infold::cli {
namespace {

double ms(std::uint64_t us) { return static_cast<double>(us) / 1000; }

// Returns the mean bytes per second while the calls run, or 0 if they took no time.
double rate_of(const trace::CollectiveRow& row) {
  return row.us == 0 ? 0 : static_cast<double>(row.bytes) / static_cast<double>(row.us) * 1e6;
}

class TraceShow final : public Command {
 public:
  std::string_view name() const override { return "trace show"; }
  std::string_view summary() const override {
    return "Print a trace's compute, collectives, steps and critical path";
  }

  void declare(Options& options) override {
    options.path("file", file_, "Chakra trace of one rank, such as trace.0.et");
    options.require("file");
    options.examples(
        "  infold trace show trace.0.et\n"
        "  infold trace show trace.0.et --json");
  }

  ExitCode run(Output& output) override {
    const auto trace = trace::read_any(file_);
    if (!trace) {
      output.log("infold trace show: {}\n", trace.error());
      return status_of_bad({&file_, 1});
    }
    if (const auto fault = trace::find_fault(*trace)) {
      output.log("infold trace show: {} cannot be replayed: {}\n", file_, *fault);
    }
    const trace::Summary summary = trace::summary_of(*trace);
    print_head(output, summary);
    print_kinds(output, summary);
    print_times(output, summary);
    return ExitCode::kDone;
  }

 private:
  static std::string number_or(const std::optional<std::uint64_t>& number) {
    return number ? fmt::format("{}", *number) : "unknown";
  }

  static void print_head(Output& output, const trace::Summary& summary) {
    output.text("rank {} of {}, {} nodes, schema {}\n\n", number_or(summary.rank),
                number_or(summary.world), summary.nodes,
                summary.version.empty() ? "unknown" : summary.version);
    nlohmann::ordered_json head = {
        {"event", "trace"}, {"nodes", summary.nodes}, {"version", summary.version}};
    if (summary.rank) head["rank"] = *summary.rank;
    if (summary.world) head["world"] = *summary.world;
    output.object(head);
  }

  static void print_kinds(Output& output, const trace::Summary& summary) {
    output.text("{:<22} {:<10} {:>8} {:>12} {:>11} {:>10}\n", "what", "group", "nodes", "bytes",
                "time ms", "MB/s");
    output.text("{:<22} {:<10} {:>8} {:>12} {:>11.3f}\n", "compute", "", summary.compute_nodes, "",
                ms(summary.compute_us));
    output.object(
        {{"event", "compute"}, {"nodes", summary.compute_nodes}, {"us", summary.compute_us}});
    for (const trace::CollectiveRow& row : summary.collectives) {
      output.text("{:<22} {:<10} {:>8} {:>12} {:>11.3f} {:>10.1f}\n", row.kind, row.group,
                  row.calls, short_bytes(row.bytes), ms(row.us), rate_of(row) / 1e6);
      output.object({{"event", "collective"},
                     {"kind", row.kind},
                     {"group", row.group},
                     {"calls", row.calls},
                     {"bytes", row.bytes},
                     {"us", row.us}});
    }
    if (summary.other_nodes > 0) {
      output.text("{:<22} {:<10} {:>8} {:>12} {:>11.3f}\n", "memory, messages, ...", "",
                  summary.other_nodes, "", ms(summary.other_us));
      output.object({{"event", "other"}, {"nodes", summary.other_nodes}, {"us", summary.other_us}});
    }
  }

  static void print_times(Output& output, const trace::Summary& summary) {
    output.text("\nspan {:.3f} ms; critical path {:.3f} ms, {:.3f} ms of it in collectives\n",
                ms(summary.span_us), ms(summary.critical_us), ms(summary.critical_collective_us));
    output.object({{"event", "times"},
                   {"span_us", summary.span_us},
                   {"critical_us", summary.critical_us},
                   {"critical_collective_us", summary.critical_collective_us}});
    std::vector<std::uint64_t> times;
    for (const trace::StepTime& step : summary.steps) {
      times.push_back(step.us);
      output.object({{"event", "step"}, {"step", step.number}, {"us", step.us}});
    }
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    output.text("{}: median {:.3f} ms, shortest {:.3f}, longest {:.3f}\n",
                counted(times.size(), "step"), ms(times[times.size() / 2]), ms(times.front()),
                ms(times.back()));
  }

  std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_trace_show_command() { return std::make_unique<TraceShow>(); }

}  // namespace infold::cli
