// SPDX-License-Identifier: Apache-2.0
#include "cli/line/write_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace infold::cli {

std::optional<std::string> write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return std::nullopt;
  return path + ": " + std::error_code(errno, std::generic_category()).message();
}

}  // namespace infold::cli
