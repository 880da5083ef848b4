// SPDX-License-Identifier: Apache-2.0
//
// Entry point of the infold binary: builds the option parser from the registry, runs the chosen
// subcommand and turns what happened into an exit code.

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "cli/build_info.h"
#include "cli/commands.h"

namespace infold::cli {
namespace {

// "bench core" is "core" under the group "bench"; "demo" is itself under the root.
struct Place {
  std::string group;
  std::string leaf;
};

Place place_of(std::string_view name) {
  const auto space = name.find(' ');
  if (space == std::string_view::npos) return {"", std::string(name)};
  return {std::string(name.substr(0, space)), std::string(name.substr(space + 1))};
}

class Parser {
 public:
  Parser() {
    root_.set_version_flag("--version", std::string("infold ") + kVersion);
    root_.require_subcommand(1);
    for (const auto& group : command_groups()) declare_group(group);
    for (const auto& command : commands_) declare(*command);
  }

  ExitCode run(int argc, char** argv) {
    try {
      root_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // CLI11 has some twenty codes of its own; --help and --version are the successes among them.
      return root_.exit(error) == 0 ? ExitCode::kDone : ExitCode::kBadUsage;
    }
    Output output(json_, stdout, stderr);
    const ExitCode code = chosen_->run(output);
    if (output.ok()) return code;
    std::fputs("infold: cannot write the output (is the disk full?)\n", stderr);
    return ExitCode::kFailed;
  }

 private:
  void declare_group(const CommandGroup& group) {
    CLI::App* app = root_.add_subcommand(std::string(group.name), std::string(group.summary));
    app->require_subcommand(1);
    groups_[std::string(group.name)] = app;
  }

  void declare(Command& command) {
    const Place place = place_of(command.name());
    CLI::App* parent = place.group.empty() ? &root_ : groups_.at(place.group);
    CLI::App* app = parent->add_subcommand(place.leaf, std::string(command.summary()));
    command.declare(*app);
    app->add_flag("--json", json_, "Print one JSON object per line on stdout");
    app->callback([this, &command] { chosen_ = &command; });
  }

  std::vector<std::unique_ptr<Command>> commands_ = make_commands();
  CLI::App root_{"In-network aggregation for distributed training", "infold"};
  std::map<std::string, CLI::App*> groups_;
  Command* chosen_ = nullptr;
  bool json_ = false;
};

}  // namespace
}  // namespace infold::cli

int main(int argc, char** argv) {
  try {
    infold::cli::Parser parser;
    return static_cast<int>(parser.run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infold: %s\n", error.what());
    return static_cast<int>(infold::cli::ExitCode::kFailed);
  }
}
