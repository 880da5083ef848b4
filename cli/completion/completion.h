// SPDX-License-Identifier: Apache-2.0
//
// Scripts that complete infold's command line in a shell, and its manual page. Pure functions of
// the text of --help.
#pragma once

#include <string>
#include <string_view>

#include "cli/line/describe.h"

namespace infold::cli {

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// The page in roff, with the man macros. `version` is in the page's foot.
std::string manual_page(const CommandText& program, std::string_view version);

// The program and all subcommands. Each comes before those below it.
std::vector<const CommandText*> all_commands(const CommandText& program);

}  // namespace infold::cli
