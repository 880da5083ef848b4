// SPDX-License-Identifier: Apache-2.0
#include "keys/token/join_strings.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/plain_text.h"
#include "io/host/file_descriptor.h"
#include "io/host/read_whole.h"

namespace infold::keys {
namespace {

constexpr std::size_t kListBytesMax = 64 << 10;

using Strings = tl::expected<std::vector<JoinString>, std::string>;

// Reads a whole file. A rank reads it again when it joins again, so a pipe, which can be read only
// once, is refused. O_NONBLOCK keeps open() from waiting for the other end of a pipe.
tl::expected<std::string, std::string> read_list(const std::string& path) {
  const auto cannot = [&](int error) {
    return tl::unexpected(fmt::format("cannot read {}: {}", path,
                                      std::error_code(error, std::generic_category()).message()));
  };
  const io::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return cannot(errno);
  struct stat found = {};
  if (fstat(file.get(), &found) != 0) return cannot(errno);
  if (!S_ISREG(found.st_mode)) {
    return tl::unexpected(path + " is not a regular file, which could be read again later");
  }
  std::string text;
  if (!io::read_whole(file.get(), kListBytesMax, text)) return cannot(errno);
  if (text.size() > kListBytesMax) {
    return tl::unexpected(path + " is longer than a list of switches");
  }
  if (has_keys(text) && (found.st_mode & S_IRWXO) != 0) {
    return tl::unexpected(fmt::format(
        "all users of this host have access to {}, which holds keys: chmod o= {}", path, path));
  }
  return text;
}

std::vector<std::string> strings_in(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with('#')) continue;
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t first = std::min(line.find_first_not_of(kBlanks), line.size());
    line.remove_prefix(first);
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    for (std::string& each : split_join_strings(line)) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

std::vector<std::string> split_join_strings(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

Strings read_join_strings(std::span<const std::string> list) {
  std::vector<JoinString> all;
  const auto add = [&](const std::string& text) -> std::string {
    auto join = parse_join_string(text);
    if (!join) return fmt::format("'{}' {}", base::plain_text(place_of(text)), join.error());
    all.push_back(std::move(*join));
    return "";
  };
  for (const std::string& each : list) {
    std::string error;
    if (!each.starts_with('@')) {
      error = add(each);
    } else if (const auto text = read_list(each.substr(1)); !text) {
      error = text.error();
    } else {
      const std::vector<std::string> strings = strings_in(*text);
      if (strings.empty()) error = each.substr(1) + " names no switch";
      for (const std::string& string : strings) {
        if (error.empty()) error = add(string);
      }
    }
    if (!error.empty()) return tl::unexpected(std::move(error));
  }
  return all;
}

}  // namespace infold::keys
