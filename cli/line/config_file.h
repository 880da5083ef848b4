// SPDX-License-Identifier: Apache-2.0
//
// Reads options from a TOML file. The top-level keys are the names of options, with _ instead of -.
// Hides toml++.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// A key as the option that it sets ("--no-offload"), with its value as a person would type it.
struct ConfigValue {
  std::string option;
  std::string value;
  unsigned line = 0;  // the line in the file, from 1
};

// Returns all values of the file at `path`, or an error that names the line.
tl::expected<std::vector<ConfigValue>, std::string> read_config_file(const std::string& path);

}  // namespace infold::cli
