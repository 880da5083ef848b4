// SPDX-License-Identifier: Apache-2.0
//
// Lists of strings to join with, some of which may be in files: "@path" stands for the strings in
// that file, so that neither a command line nor the environment of a process shows them.
//
// A file has strings with commas or ends of lines between them. Lines that begin with '#' are
// comments. If it holds keys, users beside its owner and its group must not have access.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "keys/token/join_string.h"

namespace infold::keys {

// An error is a sentence that names the string or the file, and shows no part of any keys.
tl::expected<std::vector<JoinString>, std::string> read_join_strings(
    std::span<const std::string> list);

// Splits at commas, and leaves out what is empty.
std::vector<std::string> split_join_strings(std::string_view text);

}  // namespace infold::keys
