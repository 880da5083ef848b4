// SPDX-License-Identifier: Apache-2.0
//
// Options from a TOML file: top-level keys named as the options are, with _ for -. Hides toml++.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// A key as an option ("--no-offload") with its value as somebody would have typed it.
struct ConfigValue {
  std::string option;
  std::string value;
  unsigned line = 0;  // of the file, from 1
};

// All of a file's, by name; or what is wrong with the file, with its line.
tl::expected<std::vector<ConfigValue>, std::string> read_config_file(const std::string& path);

}  // namespace infold::cli
