// SPDX-License-Identifier: Apache-2.0
//
// infold doctor: says what this machine offers and, where it is less than infold can use, what to
// do. Warnings are not failures, so it returns 0 with them too. Of the kernel's plane it says all
// only when asked, since most hosts have no use for it.

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
  std::string_view summary() const override { return "Report what this machine offers infold"; }
  void declare(Options& options) override {
    options.choice("--plane", plane_, {"user", "xdp"},
                   "For which kind of switch: of user space, or what the kernel's takes");
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
