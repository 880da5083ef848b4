// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include <fmt/format.h>

#include "cli/completion/completion.h"
#include "cli/line/quantity.h"

namespace infold::cli {
namespace {

// Escapes text for roff, where a backslash begins an escape and a plain dash becomes a hyphen. A
// full stop or an apostrophe at the start of a line would turn the line into a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// Formats prose for roff and adds a full stop. The lines are short, so that they are easy to
// compare.
std::string paragraph(std::string_view text) {
  constexpr std::size_t kColumns = 78;
  std::string out, line;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t space = std::min(text.find(' ', start), text.size());
    const std::string word = roff(text.substr(start, space - start));
    if (!line.empty() && line.size() + 1 + word.size() >= kColumns) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? word : " " + word;
    start = space + 1;
  }
  return out + line + (text.ends_with('.') ? "\n" : ".\n");
}

std::string option_lines(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  }
  const std::string value =
      option.takes_value() ? fmt::format(" \\fI{}\\fR", roff(option.type)) : "";
  return fmt::format(".TP\n{}{}\n{}", names, value, paragraph(option.help));
}

std::string synopsis(const CommandText& command) {
  std::string text = fmt::format("\\fB{}\\fR", roff(command.path));
  text +=
      command.subcommands.empty() ? " [\\fIOPTIONS\\fR]" : " [\\fIOPTIONS\\fR] \\fISUBCOMMAND\\fR";
  for (const OptionText& option : command.options) {
    if (option.is_positional) text += fmt::format(" \\fI{}\\fR", roff(option.names.front()));
  }
  return text + "\n";
}

std::string command_lines(const CommandText& command) {
  std::string text = fmt::format(".SS {}\n{}.PP\n{}", roff(command.path),
                                 paragraph(command.summary), synopsis(command));
  for (const OptionText& option : command.options) text += option_lines(option);
  if (!command.examples.empty()) {
    const bool has_end = command.examples.ends_with('\n');
    text += fmt::format(".PP\nExamples:\n.PP\n.EX\n{}{}.EE\n", roff(command.examples),
                        has_end ? "" : "\n");
  }
  return text;
}

}  // namespace

std::string manual_page(const CommandText& program, std::string_view version) {
  std::string text = fmt::format(
      ".\\\" Made by: infold manual\n.TH INFOLD 1 \"\" \"infold {}\" \"User Commands\"\n"
      ".nh\n.ad l\n"
      ".SH NAME\ninfold \\- {}\n.SH SYNOPSIS\n{}",
      version, roff(program.summary), synopsis(program));
  text +=
      ".SH DESCRIPTION\nThe program adds up the gradients of training jobs in the network.\n"
      "Workers send the elements of their tensors in packets to an aggregator.\n"
      "The aggregator adds them and sends one sum back to all.\n"
      "By default, sums of floats are exact and rounded once to nearest.\n"
      "Each subcommand has its own options.\n"
      ".SH OPTIONS\n";
  for (const OptionText& option : program.options) text += option_lines(option);
  text += ".SH COMMANDS\n";
  for (const CommandText* command : all_commands(program)) {
    if (command != &program) text += command_lines(*command);
  }
  text += fmt::format(".SH SIZES AND RATES\n{}\n{}\n", roff(kSizesSentence), roff(kRatesSentence));
  text +=
      ".SH EXIT STATUS\n.TP\n\\fB0\\fR\nThe command succeeded.\n"
      ".TP\n\\fB1\\fR\nThe command failed, and stderr says why.\n"
      ".TP\n\\fB2\\fR\nThe command line is wrong, or names a file that cannot be read.\n";
  return text;
}

}  // namespace infold::cli
