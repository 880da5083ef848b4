// SPDX-License-Identifier: Apache-2.0
//
// infold trace perfetto: writes traces as a timeline for ui.perfetto.dev.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/line/quantity.h"
#include "cli/line/whole_file.h"
#include "cli/trace/read_traces.h"
#include "trace/views/perfetto.h"

namespace infold::cli {
namespace {

class TracePerfetto final : public Command {
 public:
  std::string_view name() const override { return "trace perfetto"; }
  std::string_view summary() const override {
    return "Write traces as a timeline for ui.perfetto.dev or Chrome";
  }

  void declare(Options& options) override {
    options.files("file", files_, "Chakra traces, and last the JSON file to write");
    options.examples(
        "  infold trace perfetto trace.0.et rank0.json\n"
        "  infold trace perfetto trace.*.et run.json");
  }

  ExitCode run(Output& output) override {
    if (files_.size() < 2) {
      return fail(output,
                  fmt::format("{}: name traces first, and then the file to write, such as run.json",
                              files_.front()),
                  ExitCode::kBadUsage);
    }
    const std::string& to = files_.back();
    if (to.ends_with(".et")) {
      return fail(output, "would write its JSON to " + to + "; name a file such as run.json last",
                  ExitCode::kBadUsage);
    }
    const auto names = std::span<const std::string>(files_).first(files_.size() - 1);
    const auto traces = read_traces(names);
    if (!traces) return fail(output, traces.error(), status_of_bad(names));
    const std::string text = trace::perfetto_of(*traces);
    if (const auto problem = write_file(to, text)) return fail(output, *problem);
    output.text("{}: {}, {} bytes; open it at https://ui.perfetto.dev\n", to,
                counted(traces->size(), "rank"), text.size());
    output.object(
        {{"event", "timeline"}, {"file", to}, {"ranks", traces->size()}, {"bytes", text.size()}});
    return ExitCode::kDone;
  }

 private:
  static ExitCode fail(Output& output, const std::string& reason,
                       ExitCode code = ExitCode::kFailed) {
    output.log("infold trace perfetto: {}\n", reason);
    return code;
  }

  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_trace_perfetto_command() { return std::make_unique<TracePerfetto>(); }

}  // namespace infold::cli
