// SPDX-License-Identifier: Apache-2.0
#include "cli/line/whole_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace infold::cli {
namespace {

std::string reason_of(int error) {
  return std::error_code(error == 0 ? EIO : error, std::generic_category()).message();
}

// Opening a pipe that has no writer would block, and a signal could not end the wait. A pipe that
// the caller has opened already has a writer: standard input, or a shell's <(command). A folder
// fails when it is read.
bool may_block(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  const bool is_open = path == "/dev/stdin" || path.starts_with("/dev/fd/");
  return std::filesystem::is_other(status) && !is_open;
}

}  // namespace

tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t bytes_max) {
  if (may_block(path)) return tl::unexpected(std::string("it is not a regular file"));
  std::string text(bytes_max + 1, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // A folder can be opened, but reading its first byte fails.
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) {
    return tl::unexpected("cannot read the file: " + reason_of(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > bytes_max) {
    return tl::unexpected(fmt::format("the file has more than {} bytes", bytes_max));
  }
  return text;
}

std::optional<std::string> find_unwritable(const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  errno = 0;
  const bool is_open = std::ofstream(path, std::ios::app).is_open();
  const int error = errno;
  if (is_open && !was_there) std::filesystem::remove(path, ignored);
  if (is_open) return std::nullopt;
  return path + ": " + reason_of(error);
}

std::optional<std::string> write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return std::nullopt;
  return path + ": " + reason_of(errno);
}

}  // namespace infold::cli
