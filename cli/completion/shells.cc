// SPDX-License-Identifier: Apache-2.0
//
// The scripts find the subcommand among the words before the cursor. Then they offer its
// subcommands, its options, or the words that the option before the cursor allows. They do not
// start any process.
#include <fmt/format.h>

#include "cli/completion/completion.h"

namespace infold::cli {
namespace {

// Quotes the text with single quotes, which bash, zsh and fish all understand. Requires: the text
// has no control characters.
std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

using Commands = std::vector<const CommandText*>;

// Returns "infold bench", "infold bench core" and so on, without the program itself.
std::string paths(const Commands& commands, std::string_view between) {
  std::string text;
  for (const CommandText* command : commands) {
    if (command->path.find(' ') == std::string::npos) continue;
    if (!text.empty()) text += between;
    text += shell_word(command->path);
  }
  return text;
}

// Returns the words that may follow the command: subcommands, options, and the allowed words of a
// positional argument.
std::string words_after(const CommandText& command) {
  std::string text;
  for (const CommandText& below : command.subcommands) text += below.name() + " ";
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.is_positional ? option.choices : option.names) {
      text += name + " ";
    }
  }
  if (!text.empty()) text.pop_back();
  return text;
}

// Returns the `case` patterns that match the last word before the cursor if this option's value
// comes next.
std::string value_pattern(const CommandText& command, const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += (text.empty() ? "" : "|") + shell_word(command.path + " " + name);
  }
  return text;
}

// Escapes colons and brackets, because in _arguments a colon ends a part and a bracket ends a
// description.
std::string escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string words_of(const OptionText& option) {
  return fmt::format("{}", fmt::join(option.choices, " "));
}

// Returns one argument for zsh's _arguments per name, or a single one for a positional argument.
std::string zsh_arguments(const OptionText& option, int position) {
  const std::string action = option.takes_file()      ? "_files"
                             : option.choices.empty() ? ""
                                                      : "(" + words_of(option) + ")";
  const std::string help = escaped(option.help, "\\[]:");
  const std::string value =
      option.takes_value() ? ":" + escaped(option.type, "\\:") + ":" + action : "";
  if (option.is_positional) {
    return fmt::format(" \\\n        {}", shell_word(fmt::format("{}{}", position, value)));
  }
  std::string text;
  for (const std::string& name : option.names) {
    // Every option is marked as repeatable, with the '*'. An option that takes several values says
    // so in its help; for all others the last value counts.
    text += fmt::format(" \\\n        {}", shell_word(fmt::format("*{}[{}]{}", name, help, value)));
  }
  return text;
}

std::string fish_option(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_file()) {
    text += " -r -F";
  } else if (!option.choices.empty()) {
    text += " -x -a " + shell_word(words_of(option));
  } else if (option.takes_value()) {
    text += " -x";
  }
  return text + " -d " + shell_word(option.help);
}

}  // namespace

std::vector<const CommandText*> all_commands(const CommandText& program) {
  std::vector<const CommandText*> all = {&program};
  for (const CommandText& below : program.subcommands) {
    for (const CommandText* each : all_commands(below)) all.push_back(each);
  }
  return all;
}

std::string bash_completion(const CommandText& program) {
  const Commands commands = all_commands(program);
  std::string values, words;
  for (const CommandText* command : commands) {
    words += fmt::format("    {}) words={} ;;\n", shell_word(command->path),
                         shell_word(words_after(*command)));
    for (const OptionText& option : command->options) {
      if (!option.takes_value() || option.is_positional) continue;
      const std::string pattern = value_pattern(*command, option);
      if (option.takes_file()) {
        values += fmt::format(
            "    {}) compopt -o filenames 2>/dev/null || true; mapfile -t COMPREPLY < <(compgen -f "
            "-- "
            "\"$word\"); return ;;\n",
            pattern);
      } else {
        values += fmt::format("    {}) offered={}; takes_value=1 ;;\n", pattern,
                              shell_word(words_of(option)));
      }
    }
  }
  return fmt::format(
      R"(# Completes infold in bash. Made by: infold completion bash
_infold() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command=infold words= offered= takes_value= i
  # In --plane=user the sign of equality is a word of its own.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
    {}) command+=" ${{COMP_WORDS[i]}}" ;;
    *) break ;;
    esac
  done
  case "$command $before" in
{}  esac
  case $command in
{}  esac
  [[ -z $takes_value ]] || words=$offered
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -F _infold infold
)",
      paths(commands, " | "), values, words);
}

std::string zsh_completion(const CommandText& program) {
  const Commands commands = all_commands(program);
  std::string cases;
  for (const CommandText* command : commands) {
    std::string arguments;
    int position = 1;
    for (const OptionText& option : command->options) {
      arguments += zsh_arguments(option, option.is_positional ? position++ : 0);
    }
    if (!command->subcommands.empty()) {
      std::string below;
      for (const CommandText& each : command->subcommands) {
        below += fmt::format("{}{}\\:\"{}\"", below.empty() ? "" : " ", each.name(),
                             escaped(each.summary, "\\\":()"));
      }
      arguments += fmt::format(" \\\n        {}", shell_word("1:command:((" + below + "))"));
    }
    cases +=
        fmt::format("    {})\n      _arguments -s{} ;;\n", shell_word(command->path), arguments);
  }
  return fmt::format(
      R"(#compdef infold
# Completes infold in zsh. Made by: infold completion zsh
_infold() {{
  local command=infold i
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command $words[i]" in
      ({}) command+=" $words[i]" ;;
      (*) break ;;
    esac
  done
  # The text to complete begins with the subcommand.
  shift $((i - 2)) words
  ((CURRENT -= i - 2))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _infold ]]; then
  _infold "$@"
else
  compdef _infold infold
fi
)",
      paths(commands, " | "), cases);
}

std::string fish_completion(const CommandText& program) {
  const Commands commands = all_commands(program);
  std::string lines;
  for (const CommandText* command : commands) {
    const std::string head = fmt::format("complete -c infold -n {}",
                                         shell_word("__infold_at " + shell_word(command->path)));
    for (const CommandText& below : command->subcommands) {
      lines += fmt::format("{} -a {} -d {}\n", head, below.name(), shell_word(below.summary));
    }
    for (const OptionText& option : command->options) {
      if (option.is_positional) {
        lines += fmt::format("{} -a {} -d {}\n", head, shell_word(words_of(option)),
                             shell_word(option.help));
      } else {
        lines += head + fish_option(option) + "\n";
      }
    }
  }
  return fmt::format(
      R"(# Completes infold in fish. Made by: infold completion fish
function __infold_at --description 'Whether the words before the cursor are of this subcommand'
    set -l command infold
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case {}
                set command "$command $word"
            case '*'
                break
        end
    end
    test "$command" = "$argv[1]"
end
complete -c infold -f
{})",
      paths(commands, " "), lines);
}

}  // namespace infold::cli
