// SPDX-License-Identifier: Apache-2.0
//
// infold doctor: says what this machine offers and, where it is less than infold can use, what to
// do. It only reads; it never changes a setting.

#include <string>
#include <sys/utsname.h>

#include <hwy/targets.h>

#include "cli/build_info.h"
#include "cli/commands.h"

namespace infold::cli {
namespace {

class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "Report what this machine offers infold"; }
  void declare(Options&) override {}

  ExitCode run(Output& output) override {
    output.text("OK    build: infold {}, {}, {}\n", kVersion, kCompiler, kBuildType);
    return ExitCode::kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<Doctor>(); }

}  // namespace infold::cli
