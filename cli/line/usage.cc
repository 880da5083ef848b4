// SPDX-License-Identifier: Apache-2.0
#include "cli/line/usage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace infold::cli {
namespace {

struct Renamed {
  std::string_view before;
  std::string_view now;
  std::string_view unit = "";  // where the numbers mean something else than before
};
// Options that commands name differently although they mean the same. A command that has the second
// name refuses the first one with it.
constexpr Renamed kRenamed[] = {
    {"--workers", "--ranks"},
    {"--world", "--ranks"},
    {"--rate", "--link"},
    {"--size", "--bytes"},
    {"--elements", "--bytes", ", and counts bytes"},
    {"--sites", "--place"},
    {"--site", "--place"},
    {"--wire", "--format"},
    {"--place", "--buffers"},
    {"--rack-rate", "--rack-link"},
    {"--workers-max", "--ranks-max"},
};

// An option of other commands, and the one that a command has in its place.
struct Instead {
  std::string_view typed;
  std::string_view use;
  std::string_view why;
};
constexpr Instead kInstead[] = {
    {"--bytes", "--elements", "counts elements, because its types have different sizes"},
    {"--size", "--elements", "counts elements, because its types have different sizes"},
    {"--ranks", "--ranks-max", "draws the ranks of each job"},
    {"--world", "--ranks-max", "draws the ranks of each job"},
    {"--workers", "--ranks-max", "draws the ranks of each job"},
};

// Fewer letters are the beginning of a name by chance.
constexpr std::size_t kPrefixMin = 3;

// The number of letters that were left out, added, changed, or swapped with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        of[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, of[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
      }
    }
  }
  return of[a.size()][b.size()];
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) {
         return !each->get_group().empty();  // --help lists the commands that have a group
       })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Returns "infold bench core".
std::string path_of(const CLI::App& where) {
  const CLI::App* const parent = where.get_parent();
  return parent == nullptr ? where.get_name()
                           : fmt::format("{} {}", path_of(*parent), where.get_name());
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> names) {
  const std::string_view meant = closest(typed, names);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

// Returns the whole name of a command that is elsewhere: "infold bench core" for "core".
std::string find_elsewhere(std::string_view typed, const CLI::App& where) {
  const CLI::App* root = &where;
  while (root->get_parent() != nullptr) root = root->get_parent();
  for (const std::string& name : commands_of(*root)) {
    if (name == typed) return fmt::format("{} {}", root->get_name(), name);
    for (const std::string& leaf : commands_of(*root->get_subcommand(name))) {
      if (leaf == typed) return fmt::format("{} {} {}", root->get_name(), name, leaf);
    }
  }
  return "";
}

std::string unexpected(std::string_view typed, const CLI::App& where) {
  if (typed.starts_with("-")) return no_such_option(typed.substr(0, typed.find('=')), where);
  std::vector<std::string> commands = commands_of(where);
  if (commands.empty()) return fmt::format("the argument '{}' is not expected here", typed);
  std::string elsewhere = find_elsewhere(typed, where);
  if (where.get_parent() == nullptr) {
    commands.emplace_back("help");
    const std::vector<std::string> options = options_of(where);
    const std::string option = fmt::format("--{}", typed);
    if (std::find(options.begin(), options.end(), option) != options.end()) elsewhere = option;
  }
  return fmt::format("there is no command '{}'{}", typed,
                     elsewhere.empty() ? did_you_mean(typed, commands)
                                       : fmt::format("; did you mean {}?", elsewhere));
}

// Splits "A <word> B", as CLI11 joins the names of two options.
std::pair<std::string, std::string> around(const std::string& text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + word.size())};
}

}  // namespace

std::string_view closest(std::string_view typed, std::span<const std::string> names) {
  // Short names differ by a letter or two from many others.
  const std::size_t dashes = std::min(typed.find_first_not_of('-'), typed.size());
  std::size_t limit = std::min<std::size_t>(2, (typed.size() - dashes) / 3) + 1;
  std::string_view found;
  for (const std::string& name : names) {
    const std::size_t far = distance(typed, name);
    if (far >= limit) continue;
    limit = far;
    found = name;
  }
  if (!found.empty() || typed.size() < dashes + kPrefixMin) return found;
  const auto continues = [&](const std::string& name) { return name.starts_with(typed); };
  const bool is_one = std::count_if(names.begin(), names.end(), continues) == 1;
  return is_one ? *std::find_if(names.begin(), names.end(), continues) : found;
}

std::string no_such_option(std::string_view name, const CLI::App& where) {
  const std::vector<std::string> options = options_of(where);
  for (const Renamed& each : kRenamed) {
    if (name != each.before) continue;
    if (std::find(options.begin(), options.end(), each.now) == options.end()) continue;
    return fmt::format("the option {} is now called {}{}", each.before, each.now, each.unit);
  }
  for (const Instead& each : kInstead) {
    if (name != each.typed) continue;
    if (std::find(options.begin(), options.end(), each.use) == options.end()) continue;
    return fmt::format("there is no option {}: {} {}; use {}", name, path_of(where), each.why,
                       each.use);
  }
  return fmt::format("there is no option {}{}", name, did_you_mean(name, options));
}

std::string what_is_wrong(const CLI::ParseError& error, const CLI::App& where,
                          std::span<const std::string> unknown) {
  // Names of errors are unreliable: that of unknown words is the command's name.
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const std::string text = error.what();
  if (kind == CLI::ExitCodes::RequiredError && !unknown.empty())
    return unexpected(unknown.front(), where);
  if (kind == CLI::ExitCodes::ExtrasError) {
    // The text ends with the words that are left, the first one last. A word may have blanks.
    return unexpected(unknown.empty() ? text.substr(text.find_last_of(' ') + 1) : unknown.front(),
                      where);
  }
  if (kind == CLI::ExitCodes::RequiredError) {
    const std::string name = around(text, " is required").first;
    if (const CLI::Option* const option = where.get_option_no_throw(name)) {
      return fmt::format("name a {}: {}", name, option->get_description());
    }
  }
  if (kind == CLI::ExitCodes::ConversionError) {
    const std::string option = around(around(text, ": ").second, " = ").first;
    return fmt::format("{} takes no value", option.empty() ? "the flag" : option);
  }
  if (kind == CLI::ExitCodes::ArgumentMismatch) {
    const std::string option = text.substr(0, text.find_first_of(": "));
    if (text.find("received") != std::string::npos) {
      return fmt::format("{} may be given only once", option);
    }
    if (text.find("override") != std::string::npos) {
      return fmt::format("{} takes no value", option);
    }
    return fmt::format("{} needs a value", option);
  }
  if (kind == CLI::ExitCodes::ExcludesError) {
    const auto [first, second] = around(text, " excludes ");
    return fmt::format("give {} or {}, not both", first, second);
  }
  if (kind == CLI::ExitCodes::RequiresError) {
    const auto [first, second] = around(text, " requires ");
    return fmt::format("{} needs {} as well", first, second);
  }
  return text;
}

}  // namespace infold::cli
