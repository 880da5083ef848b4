// SPDX-License-Identifier: Apache-2.0

#include "cli/line/describe.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/line/parser.h"

namespace infold::cli {
namespace {

std::vector<std::string> split_choices(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  for (std::size_t start = 0; start <= type.size();) {
    const std::size_t bar = std::min(type.find('|', start), type.size());
    words.push_back(type.substr(start, bar - start));
    start = bar + 1;
  }
  return words;
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  text.is_positional = option.get_positional();
  if (text.is_positional) {
    text.names.push_back(option.get_name(/*positional=*/true));
  }
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) text.type = option.get_type_name();
  text.choices = split_choices(text.type);
  text.help = option.get_description();
  return text;
}

CommandText describe_app(const CLI::App& app, const std::string& path) {
  CommandText text;
  text.path = path;
  text.summary = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    text.options.push_back(describe_option(*option));
  }
  const std::string footer = app.get_footer();
  const std::size_t first = footer.find("Examples:\n");
  if (first != std::string::npos) text.examples = footer.substr(footer.find('\n', first) + 1);
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;
    text.subcommands.push_back(describe_app(*below, path + " " + below->get_name()));
  }
  std::sort(text.subcommands.begin(), text.subcommands.end(),
            [](const CommandText& a, const CommandText& b) { return a.path < b.path; });
  return text;
}

}  // namespace

CommandText describe(const std::vector<std::unique_ptr<Command>>& commands) {
  CommandText text;
  visit_command_line(commands,
                     [&text](const CLI::App& root) { text = describe_app(root, root.get_name()); });
  return text;
}

}  // namespace infold::cli
