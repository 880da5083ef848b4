// SPDX-License-Identifier: Apache-2.0
//
// infold reproduce: computes figures that the authors of other systems published, and prints ours
// beside theirs. It needs no privileges, no network and no other machine.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/line/progress.h"
#include "cli/reproduce/report_table.h"
#include "study/reproduce/catalogue.h"

namespace infold::cli {
namespace {

constexpr std::string_view kAll = "all";

class Reproduce final : public Command {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "Compute published figures of other systems, and print ours beside them";
  }

  void declare(Options& options) override {
    std::vector<std::string> names;
    for (const auto& each : reproduce::reproductions()) names.emplace_back(each.name);
    names.emplace_back(kAll);
    options.choice("name", name_, names,
                   "The figures to compute, or all; without a name, a list with a line for each");
    options.examples(
        "  infold reproduce                       list what can be computed\n"
        "  infold reproduce switchml-rate         one of these, as a table with reasons\n"
        "  infold reproduce all --json            all of them, an object for each figure\n");
  }

  ExitCode run(Output& output) override {
    if (name_.empty()) return list(output);
    std::vector<const reproduce::Reproduction*> chosen;
    for (const reproduce::Reproduction& each : reproduce::reproductions()) {
      if (name_ == kAll || name_ == each.name) chosen.push_back(&each);
    }
    std::vector<std::string_view> failed;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      output.log("computing {} ({} of {})\n", chosen[i]->name, i + 1, chosen.size());
      if (!run_one(output, *chosen[i])) failed.push_back(chosen[i]->name);
    }
    if (failed.empty()) return ExitCode::kDone;
    output.log("reproduce: a target was missed in {}\n", fmt::join(failed, ", "));
    return ExitCode::kFailed;
  }

 private:
  static ExitCode list(Output& output) {
    for (const reproduce::Reproduction& each : reproduce::reproductions()) {
      output.text("{:<16}  {}\n", each.name, each.summary);
      output.object({{"name", each.name}, {"summary", each.summary}});
    }
    output.text("{:<16}  all of these, in this order\n", kAll);
    return ExitCode::kDone;
  }

  static bool run_one(Output& output, const reproduce::Reproduction& reproduction) {
    const auto start = std::chrono::steady_clock::now();
    ProgressLine line(output, 1, 1);
    const reproduce::Report report =
        reproduction.run([&](const std::string& row, std::size_t number, std::size_t rows) {
          line.show(
              0, fmt::format("computing {}: {} ({} of {})", reproduction.name, row, number, rows));
        });
    line.clear();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    print_report(output, reproduction, report);
    output.text("took {:.1f} s: infold reproduce {}\n\n", took.count(), reproduction.name);
    output.object({{"reproduction", reproduction.name},
                   {"good", report.is_good()},
                   {"command", fmt::format("infold reproduce {}", reproduction.name)},
                   {"took_s", took.count()}});
    return report.is_good();
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_reproduce_command() { return std::make_unique<Reproduce>(); }

}  // namespace infold::cli
