// SPDX-License-Identifier: Apache-2.0
#include "cli/line/config_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cli/line/whole_file.h"

namespace infold::cli {

tl::expected<std::vector<ConfigValue>, std::string> read_config_file(const std::string& path) {
  constexpr std::size_t kBytesMax = 1 << 20;
  const auto text_of_file = read_file(path, kBytesMax);
  if (!text_of_file) return tl::unexpected(path + ": " + text_of_file.error());
  toml::table table;
  try {
    table = toml::parse(*text_of_file, path);
  } catch (const toml::parse_error& error) {
    return tl::unexpected(
        fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
  }
  std::vector<ConfigValue> options;
  for (const auto& [key, value] : table) {
    std::string name = "--" + std::string(key.str());
    std::replace(name.begin(), name.end(), '_', '-');
    std::string text;
    if (const auto as_text = value.value<std::string>(); value.is_string()) {
      text = *as_text;
    } else if (const auto whole = value.value<std::int64_t>(); value.is_integer()) {
      text = std::to_string(*whole);
    } else if (const auto real = value.value<double>(); value.is_floating_point()) {
      text = fmt::format("{}", *real);
    } else if (const auto flag = value.value<bool>(); value.is_boolean()) {
      text = *flag ? "true" : "false";
    } else {
      return tl::unexpected(fmt::format("{}:{}: '{}' is neither text, number nor true or false",
                                        path, value.source().begin.line, key.str()));
    }
    options.push_back({std::move(name), std::move(text), value.source().begin.line});
  }
  return options;
}

}  // namespace infold::cli
