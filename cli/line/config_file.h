// SPDX-License-Identifier: Apache-2.0
//
// Options from a TOML file. Its top-level keys are the options' names, with _ for -. Hides toml++.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// A key as an option ("--no-offload"), with its value as a person would type it.
struct ConfigValue {
  std::string option;
  std::string value;
  unsigned line = 0;  // in the file, from 1
};

// Returns all values of a file by name, or an error that names the line.
tl::expected<std::vector<ConfigValue>, std::string> read_config_file(const std::string& path);

}  // namespace infold::cli
