// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/read_traces.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include "trace/trace_file.h"

namespace infold::cli {

tl::expected<std::vector<trace::NamedTrace>, std::string> read_traces(
    std::span<const std::string> files) {
  std::vector<trace::NamedTrace> traces;
  for (const std::string& file : files) {
    auto read = trace::read(file);
    if (!read) return tl::unexpected(std::move(read.error()));
    traces.push_back({file, std::move(*read)});
  }
  return traces;
}

ExitCode status_of_bad(std::span<const std::string> files) {
  const bool is_lost = std::any_of(files.begin(), files.end(), [](const std::string& file) {
    std::error_code ignored;
    return access(file.c_str(), R_OK) != 0 || std::filesystem::is_directory(file, ignored);
  });
  return is_lost ? ExitCode::kBadUsage : ExitCode::kFailed;
}

}  // namespace infold::cli
