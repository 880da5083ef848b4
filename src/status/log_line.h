// SPDX-License-Identifier: Apache-2.0
//
// Formats one event as one line of a log, in text or in JSON. Values may come from ranks, so no
// value can break the line or add bytes that are not printable ASCII. A line has at most
// kLogLineBytesMax bytes. These functions do not allocate, read a clock or write to a file;
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

// The kernel writes up to 4096 bytes to a pipe at once or not at all, so that lines never mix.
constexpr std::size_t kLogLineBytesMax = 4096;
// Bytes of one value before escaping. The longest reason that infold writes has about 300.
constexpr std::size_t kLogValueBytesMax = 512;

// The levels stand in the order of their importance. A log with one of these levels also holds the
// levels before it.
enum class LogLevel : std::uint8_t { off, error, warn, info, debug };
enum class LogFormat : std::uint8_t { text, json };

std::string_view log_level_name(LogLevel level);

struct LogOptions {
  LogLevel level = LogLevel::warn;
  LogFormat format = LogFormat::text;
};

// Reads words separated by commas, such as "debug,json": off, error, warn, info, debug, text, json.
// If `words` names no level or no format, the one in `options` stays.
base::Result<LogOptions> parse_log_options(std::string_view words, LogOptions options = {});

// The name must be one of our own literals. The value is borrowed for the call.
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
  std::int64_t unix_ms = 0;  // time of the event since 1970
  LogLevel level = LogLevel::info;
  std::string_view kind;  // the event's name, a literal in snake_case
};

// Writes the line and its newline into `room`, and returns the length. If fields did not fit, the
// line's field `left_out` counts them. Requires: `room` has kLogLineBytesMax bytes.
std::size_t format_log_line(const LogEvent& event, LogFields fields, LogFormat format,
                            std::span<char> room);

}  // namespace infold::status
