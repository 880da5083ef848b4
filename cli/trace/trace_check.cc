// SPDX-License-Identifier: Apache-2.0
//
// infold trace check: finds faults in single traces and in the set of them.

#include "trace/trace_check.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/trace/read_traces.h"

namespace infold::cli {
namespace {

class TraceCheck final : public Command {
 public:
  std::string_view name() const override { return "trace check"; }
  std::string_view summary() const override {
    return "Find the faults of traces; several files are the ranks of one run";
  }

  void declare(Options& options) override {
    options.files("file", files_, "Chakra traces, such as trace.0.et");
    options.examples(
        "  infold trace check trace.0.et\n"
        "  infold trace check trace.*.et");
  }

  ExitCode run(Output& output) override {
    const auto traces = read_traces(files_);
    std::optional<std::string> fault;
    if (!traces) {
      fault = traces.error();
    } else if (traces->size() > 1) {
      fault = trace::find_fault_of_set(*traces);
    }
    if (fault) {
      output.log("infold trace check: {}\n", *fault);
      return status_of_bad(files_);
    }
    for (const trace::NamedTrace& each : *traces) {
      output.text("{}: {} nodes, no fault\n", each.file, each.trace.nodes.size());
      output.object({{"event", "trace"}, {"file", each.file}, {"nodes", each.trace.nodes.size()}});
    }
    return ExitCode::kDone;
  }

 private:
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_trace_check_command() { return std::make_unique<TraceCheck>(); }

}  // namespace infold::cli
