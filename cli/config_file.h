// SPDX-License-Identifier: Apache-2.0
//
// Options from a TOML file: top-level keys named as the options are, with _ for -. Hides toml++.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// Keys as options ("--no-offload") with their values as somebody would have typed them, in the
// file's order; or what is wrong with the file, with its line.
tl::expected<std::vector<std::pair<std::string, std::string>>, std::string> read_config_file(
    const std::string& path);

}  // namespace infold::cli
