// SPDX-License-Identifier: Apache-2.0
//
// infold doctor: says what this machine offers and, where it is less than infold can use, what to
// do. Warnings are not failures, so it returns 0 with them too.

#include <string>

#include "cli/commands.h"
#include "cli/machine.h"

namespace infold::cli {
namespace {

std::vector<Finding> inspect_all() {
  std::vector<Finding> findings = inspect_build();
  findings.push_back(inspect_cpu());
  findings.push_back(inspect_kernel());
  for (auto& finding : inspect_interfaces()) findings.push_back(std::move(finding));
  for (auto& finding : inspect_socket_buffers()) findings.push_back(std::move(finding));
  findings.push_back(inspect_privileges());
  return findings;
}

class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "Report what this machine offers infold"; }
  void declare(Options&) override {}

  ExitCode run(Output& output) override {
    for (const Finding& finding : inspect_all()) {
      output.text("{:5} {}: {}{}{}\n", finding.ok ? "OK" : "WARN", finding.name, finding.found,
                  finding.ok ? "" : "; ", finding.advice);
      output.object({{"name", finding.name},
                     {"ok", finding.ok},
                     {"found", finding.found},
                     {"advice", finding.advice}});
    }
    return ExitCode::kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<Doctor>(); }

}  // namespace infold::cli
