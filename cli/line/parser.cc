// SPDX-License-Identifier: Apache-2.0

#include "cli/line/parser.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string_view>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/line/build_info.h"
#include "cli/line/usage.h"
#include "keys/openssl.h"

namespace infold::cli {
namespace {

// "bench core" is "core" in the group "bench". "demo" stands alone, directly below the root.
struct Place {
  std::string group;
  std::string leaf;
};

Place place_of(std::string_view name) {
  const auto space = name.find(' ');
  if (space == std::string_view::npos) return {"", std::string(name)};
  return {std::string(name.substr(0, space)), std::string(name.substr(space + 1))};
}

// Returns the text that --help prints beside a group. A new group needs one line here.
std::string_view group_summary(std::string_view group) {
  if (group == "bench") return "Measure kernels, state machines or whole sums";
  if (group == "token") return "Make, list and revoke the tokens that ranks join a switch with";
  if (group == "trace") return "Check, show and replay traces of training steps";
  return "";
}

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

class Parser {
 public:
  Parser(const std::vector<std::unique_ptr<Command>>& commands, const Program& program)
      : root_(program.about, program.name) {
    root_.set_version_flag("--version", [] {
      return fmt::format("infold {} with OpenSSL {}", kVersion, keys::openssl_version());
    });
    root_.get_formatter()->column_width(32);
    root_.require_subcommand(1);
    for (const auto& command : commands) declare(*command);
    // Commands that are declared later would inherit this text.
    root_.footer(fmt::format("{} help COMMAND prints the options of a command.", program.name));
  }

  const CLI::App& root() const { return root_; }

  ExitCode run(int argc, const char* const* argv) {
    try {
      root_.parse(words_of(argc, argv));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return refuse(error);
      root_.exit(error);  // prints the text of --help or --version
      const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
      return is_written ? ExitCode::kDone : cannot_write();
    }
    Output output(json_, stdout, stderr);
    const ExitCode code = chosen_->run(output);
    return output.ok() ? code : cannot_write();
  }

 private:
  static ExitCode cannot_write() {
    std::fputs("infold: cannot write the output (is the disk full?)\n", stderr);
    return ExitCode::kFailed;
  }

  // The words in reverse order, which CLI11 wants. "help bench core" becomes "bench core --help",
  // and a group without a command, or nothing at all, asks for help as well. If there is no such
  // command, it has no help either, and the message about the command must come instead.
  std::vector<std::string> words_of(int argc, const char* const* argv) const {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto first = std::find_if(words.begin(), words.end(),
                                    [](const std::string& word) { return word != "help"; });
    const bool asks = first != words.begin();
    words.erase(words.begin(), first);
    const CLI::App* where = &root_;
    bool has_more = false;  // words other than the names of a group and a command
    bool is_unknown = false;
    for (const std::string& word : words) {
      const auto found = where->get_subcommands([&](auto* each) { return each->check_name(word); });
      if (!found.empty()) {
        where = found.front();
        continue;
      }
      has_more = true;
      if (word.starts_with('-')) continue;  // neither the root nor a group has options with values
      is_unknown = where->get_require_subcommand_min() > 0;
      break;
    }
    if (is_unknown) std::erase_if(words, is_help);
    if (!has_more && (asks || where->get_require_subcommand_min() > 0)) {
      words.emplace_back("--help");
    }
    std::reverse(words.begin(), words.end());
    return words;
  }

  // Prints on stderr the error and the command that shows the help.
  ExitCode refuse(const CLI::ParseError& error) {
    const CLI::App* where = &root_;
    std::string path = root_.get_name();
    while (!where->get_subcommands().empty()) {
      where = where->get_subcommands().front();
      path += " " + where->get_name();
    }
    const std::string what = what_is_wrong(error, *where, root_.remaining(/*recurse=*/true));
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

  CLI::App root_;
  std::map<std::string, CLI::App*> groups_;  // owned by root_
  Command* chosen_ = nullptr;
  bool json_ = false;
};

// Ctrl-C ends a command that does not handle it itself. Its line says so, because some shells print
// nothing.
extern "C" void say_stopped(int signal) {
  constexpr std::string_view kText = "\ninfold: stopped\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                          const char* const* argv, const Program& program) {
  return Parser(commands, program).run(argc, argv);
}

int run_as_main(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                const char* const* argv, const Program& program) {
  if (std::signal(SIGINT, say_stopped) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  try {
    return static_cast<int>(run_command_line(commands, argc, argv, program));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}

void visit_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                        const std::function<void(const CLI::App&)>& visit) {
  visit(Parser(commands, {}).root());
}

}  // namespace infold::cli
