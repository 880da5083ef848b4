// SPDX-License-Identifier: Apache-2.0
//
// Says what is wrong with a command line, in a sentence that names the fault and, where it can be
// guessed, the remedy. Replaces CLI11's own texts, which know neither typing errors nor the
// spellings that options had before.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace infold::cli {

// `where`: the innermost command that was recognised. `unknown`: the words that were not.
std::string what_is_wrong(const CLI::ParseError& error, const CLI::App& where,
                          std::span<const std::string> unknown);

// The name that was most likely meant: it differs from what was typed by one or two letters, and at
// most by a third of them. Otherwise the only name that begins with it. Empty if no name is close.
std::string_view closest(std::string_view typed, std::span<const std::string> names);

// The sentence about an option that the command does not have, with its new name or a close one.
std::string no_such_option(std::string_view name, const CLI::App& where);

}  // namespace infold::cli
