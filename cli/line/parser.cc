// SPDX-License-Identifier: Apache-2.0

#include "cli/line/parser.h"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/build_info.h"
#include "cli/commands.h"

namespace infold::cli {
namespace {

// "bench core" is "core" in the group "bench". "demo" is itself, in the root.
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
  explicit Parser(const std::vector<std::unique_ptr<Command>>& commands) {
    root_.set_version_flag("--version", std::string("infold ") + kVersion);
    root_.get_formatter()->column_width(32);
    root_.require_subcommand(1);
    for (const auto& command : commands) declare(*command);
  }

  const CLI::App& root() const { return root_; }

  ExitCode run(int argc, const char* const* argv) {
    try {
      root_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return refuse(error);
      root_.exit(error);  // prints the text of --help or --version
      return ExitCode::kDone;
    }
    Output output(json_, stdout, stderr);
    const ExitCode code = chosen_->run(output);
    if (output.ok()) return code;
    std::fputs("infold: cannot write the output (is the disk full?)\n", stderr);
    return ExitCode::kFailed;
  }

 private:
  // Prints the error on stderr, and the command that shows the help.
  ExitCode refuse(const CLI::ParseError& error) {
    const CLI::App* where = &root_;
    std::string path = root_.get_name();
    while (!where->get_subcommands().empty()) {
      where = where->get_subcommands().front();
      path += " " + where->get_name();
    }
    std::string what = error.what();
    const auto unknown = root_.remaining(/*recurse=*/true);
    if (error.get_name() == "RequiredError" && !unknown.empty()) {
      // CLI11's own message only says that a subcommand is required.
      what = fmt::format("there is no subcommand '{}'", unknown.front());
    }
    std::fputs(fmt::format("{}: {}\nTry '{} --help'.\n", path, what, path).c_str(), stderr);
    return ExitCode::kBadUsage;
  }

  void declare(Command& command) {
    const Place place = place_of(command.name());
    CLI::App& parent = place.group.empty() ? root_ : group(place.group);
    CLI::App* app = parent.add_subcommand(place.leaf, std::string(command.summary()));
    if (command.is_hidden()) app->group("");
    Options options(*app);
    command.declare(options);
    options.write_footer();
    app->add_flag("--json", json_, "Print one JSON object per line on stdout");
    app->callback([this, &command] { chosen_ = &command; });
  }

  CLI::App& group(const std::string& name) {
    CLI::App*& app = groups_[name];
    if (app == nullptr) {
      app = root_.add_subcommand(name, std::string(group_summary(name)));
      app->require_subcommand(1);
    }
    return *app;
  }

  CLI::App root_{"In-network aggregation for distributed training", "infold"};
  std::map<std::string, CLI::App*> groups_;  // owned by root_
  Command* chosen_ = nullptr;
  bool json_ = false;
};

}  // namespace

ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                          const char* const* argv) {
  return Parser(commands).run(argc, argv);
}

void visit_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                        const std::function<void(const CLI::App&)>& visit) {
  visit(Parser(commands).root());
}

}  // namespace infold::cli
