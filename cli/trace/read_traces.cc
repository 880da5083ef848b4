// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/read_traces.h"

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

}  // namespace infold::cli
