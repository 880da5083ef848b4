// SPDX-License-Identifier: Apache-2.0
//
// The output of a subcommand. With --json, stdout holds one JSON object per line and nothing else.
// Without --json, stdout holds text for people. Logs and warnings always go to stderr. Used by one
// thread.
#pragma once

#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace infold::cli {

class Output {
 public:
  // Borrows both streams; tests pass temporary files.
  Output(bool json, std::FILE* out, std::FILE* log) : json_(json), out_(out), log_(log) {}

  bool json() const { return json_; }

  // Prints text for people; does nothing with --json. The caller adds line ends.
  template <typename... Args>
  void text(fmt::format_string<Args...> format, Args&&... args) {
    if (!json_) write(out_, fmt::format(format, std::forward<Args>(args)...));
  }

  // Prints one object on one line and flushes it. Does nothing without --json.
  void object(const nlohmann::ordered_json& value) {
    if (json_) write(out_, value.dump() + "\n");
  }

  // Prints a message for the person at the terminal, such as a warning, progress or a reason. No
  // program parses it.
  template <typename... Args>
  void log(fmt::format_string<Args...> format, Args&&... args) {
    write(log_, fmt::format(format, std::forward<Args>(args)...));
  }

  // Returns false if a write has failed, for instance because the disk is full.
  bool ok() const { return ok_; }

 private:
  void write(std::FILE* stream, std::string_view bytes) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size();
    ok_ = std::fflush(stream) == 0 && written && ok_;
  }

  bool json_;
  bool ok_ = true;
  std::FILE* out_;
  std::FILE* log_;
};

}  // namespace infold::cli
