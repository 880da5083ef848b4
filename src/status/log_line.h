// SPDX-License-Identifier: Apache-2.0
//
// One event as one line of a log, as text or as JSON. Values may come from peers. No value can
// break the line or add other bytes than printable ASCII, and a line has at most
// kLogLineBytesMax bytes. These functions allocate nothing, read no clock and write to no file;
// io/host/log.h does.
//
//   2026-11-22T21:30:00.123Z info rank_joined job=train rank=3 world=8
//   {"time":"2026-11-22T21:30:00.123Z","level":"info","event":"rank_joined","job":"train","rank":3}
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace infold::status {

// A writer to a pipe moves up to 4096 bytes at once or not at all, so that lines never mix.
constexpr std::size_t kLogLineBytesMax = 4096;
// Bytes of one value, before escaping. The longest reason that infold writes has some 300.
constexpr std::size_t kLogValueBytesMax = 512;

// In order of importance. A log with one of these levels also holds the levels before it.
enum class LogLevel : std::uint8_t { off, error, warn, info, debug };
enum class LogFormat : std::uint8_t { text, json };

std::string_view log_level_name(LogLevel level);

struct LogOptions {
  LogLevel level = LogLevel::warn;
  LogFormat format = LogFormat::text;
};

// Reads words with commas between, as in "debug,json": off, error, warn, info, debug, text, json. A
// level or format that `words` does not name stays as in `options`.
base::Result<LogOptions> parse_log_options(std::string_view words, LogOptions options = {});

// The name is a literal of ours. The value is borrowed for the call.
struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  LogField(std::string_view its_name, std::string_view text) : name(its_name), value(text) {}
  LogField(std::string_view its_name, const char* text)
      : name(its_name), value(std::string_view(text)) {}
  LogField(std::string_view its_name, bool truth) : name(its_name), value(truth) {}
  LogField(std::string_view its_name, double number) : name(its_name), value(number) {}
  template <std::signed_integral T>
  LogField(std::string_view its_name, T number)
      : name(its_name), value(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view its_name, T number)
      : name(its_name), value(static_cast<std::uint64_t>(number)) {}

  std::string_view name;
  Value value;
};
using LogFields = std::initializer_list<LogField>;

struct LogEvent {
  std::int64_t unix_ms = 0;  // time of the event, since 1970
  LogLevel level = LogLevel::info;
  std::string_view kind;  // the event's name, a literal in snake_case
};

// Writes the line with its end into `room` and returns its length. The line's field `left_out`
// counts fields that did not fit. Requires: room of kLogLineBytesMax.
std::size_t format_log_line(const LogEvent& event, LogFields fields, LogFormat format,
                            std::span<char> room);

}  // namespace infold::status
