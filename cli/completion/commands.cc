// SPDX-License-Identifier: Apache-2.0
//
// infold completion and infold manual. They print the files that packages install, for people who
// installed the program by hand.
#include "cli/commands.h"

#include "cli/completion/completion.h"
#include "cli/line/build_info.h"

namespace infold::cli {
namespace {

class Completion final : public Command {
 public:
  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override {
    return "Print the script that completes infold's command line in a shell";
  }
  void declare(Options& options) override {
    options.choice("shell", shell_, {"bash", "zsh", "fish"}, "The shell");
    options.examples(
        "  source <(infold completion bash)\n"
        "  infold completion bash > ~/.local/share/bash-completion/completions/infold\n"
        "  infold completion zsh > ~/.zfunc/_infold         a folder of $fpath\n"
        "  infold completion fish > ~/.config/fish/completions/infold.fish");
  }

  ExitCode run(Output& output) override {
    const CommandText program = describe(make_commands());
    const std::string script = shell_ == "zsh"    ? zsh_completion(program)
                               : shell_ == "fish" ? fish_completion(program)
                                                  : bash_completion(program);
    output.text("{}", script);
    output.object({{"shell", shell_}, {"script", script}});
    return ExitCode::kDone;
  }

 private:
  std::string shell_ = "bash";
};

class Manual final : public Command {
 public:
  std::string_view name() const override { return "manual"; }
  std::string_view summary() const override { return "Print the manual page, for man(1) to show"; }
  void declare(Options& options) override { options.examples("  infold manual | man -l -"); }

  ExitCode run(Output& output) override {
    const std::string page = manual_page(describe(make_commands()), kVersion);
    output.text("{}", page);
    output.object({{"page", page}});
    return ExitCode::kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<Completion>(); }
std::unique_ptr<Command> make_manual_command() { return std::make_unique<Manual>(); }

}  // namespace infold::cli
