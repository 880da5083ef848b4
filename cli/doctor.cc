// SPDX-License-Identifier: Apache-2.0
//
// infold doctor: reports the settings of this machine that matter to infold, with advice where one
// limits infold. Warnings are not failures, so the command returns 0 even with warnings. It reports
// details about the kernel's plane only with --plane xdp, because most hosts do not need that
// plane.

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
  findings.push_back(inspect_open_files(io::descriptor_limits()));
  findings.push_back(inspect_privileges());
  findings.push_back(inspect_kernel_plane());
  return findings;
}

class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override {
    return "Check this machine's settings for infold, and give advice";
  }
  void declare(Options& options) override {
    options.choice(
        "--plane", plane_, {"user", "xdp"},
        "user checks what every host needs; xdp checks what a switch in the kernel needs");
    options.examples(
        "  infold doctor\n"
        "  sudo infold doctor --plane xdp");
  }

  ExitCode run(Output& output) override {
    for (const Finding& finding :
         plane_ == "xdp" ? inspect_kernel_plane_closely() : inspect_all()) {
      output.text("{:5} {}: {}{}{}\n", finding.ok ? "OK" : "WARN", finding.name, finding.found,
                  finding.ok ? "" : "; ", finding.advice);
      output.object({{"name", finding.name},
                     {"ok", finding.ok},
                     {"found", finding.found},
                     {"advice", finding.advice}});
    }
    return ExitCode::kDone;
  }

 private:
  std::string plane_ = "user";
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<Doctor>(); }

}  // namespace infold::cli
