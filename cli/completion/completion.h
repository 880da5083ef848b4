// SPDX-License-Identifier: Apache-2.0
//
// Generates the scripts that complete infold's command line in a shell, and its manual page. All
// functions are pure and need only the text of --help.
#pragma once

#include <string>
#include <string_view>

#include "cli/line/describe.h"

namespace infold::cli {

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// Returns the manual page in roff, with the man macros. `version` appears in the page's footer.
std::string manual_page(const CommandText& program, std::string_view version);

// Returns the program and all subcommands, each before the ones below it.
std::vector<const CommandText*> all_commands(const CommandText& program);

}  // namespace infold::cli
