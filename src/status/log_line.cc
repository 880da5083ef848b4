// SPDX-License-Identifier: Apache-2.0
#include "status/log_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "base/check.h"
#include "base/plain_text.h"

namespace infold::status {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"off", "error", "warn", "info", "debug"};
constexpr std::string_view kHexDigits = "0123456789abcdef";
// Room at the end of a line for the field `left_out`, a brace and the newline.
constexpr std::size_t kTailBytes = 32;
constexpr std::string_view kCut = "...";
// Signs that, like letters and digits, a value may contain without needing quotes.
constexpr std::string_view kBareSigns = "-_.:/%+,[]@*";

// A cursor over `room`. It writes each piece as a whole, and nothing more after the first piece
// that does not fit.
class Line {
 public:
  explicit Line(std::span<char> room) : room_(room) {}

  void put(std::string_view piece) {
    fits_ = fits_ && piece.size() <= room_.size() - used_;
    if (!fits_) return;
    std::copy(piece.begin(), piece.end(), room_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += piece.size();
  }
  void put_hex(std::uint32_t value, int digits) {
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
      put(kHexDigits.substr((value >> shift) & 15U, 1));
    }
  }
  template <typename T>
  void put_number(T number) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
    put({text.data(), static_cast<std::size_t>(end - text.data())});
  }

  std::size_t used() const { return used_; }
  bool fits() const { return fits_; }
  // Removes all text after `used`.
  void rewind(std::size_t used) {
    used_ = used;
    fits_ = true;
  }

 private:
  std::span<char> room_;
  std::size_t used_ = 0;
  bool fits_ = true;
};

bool is_bare(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || kBareSigns.find(each) != std::string_view::npos;
  });
}

bool is_printable(char each) { return each >= ' ' && each <= '~'; }

// Escapes every byte that is not printable ASCII as \xNN, because a terminal could interpret it.
void put_text(Line& line, std::string_view text, bool is_cut) {
  if (is_bare(text) && !is_cut) return line.put(text);
  line.put("\"");
  for (const char each : text) {
    if (each == '"' || each == '\\') line.put("\\");
    if (is_printable(each)) {
      line.put({&each, 1});
    } else {
      line.put("\\x");
      line.put_hex(static_cast<unsigned char>(each), 2);
    }
  }
  if (is_cut) line.put(kCut);
  line.put("\"");
}

void put_json(Line& line, std::string_view text, bool is_cut) {
  line.put("\"");
  while (!text.empty()) {
    const base::CodePoint point = base::decode_first(text);
    if (point.bytes == 1 && is_printable(text[0])) {
      if (text[0] == '"' || text[0] == '\\') line.put("\\");
      line.put(text.substr(0, 1));
    } else if (point.value < 0x10000) {
      line.put("\\u");
      line.put_hex(point.value, 4);
    } else {
      line.put("\\u");
      line.put_hex(0xd800 + ((point.value - 0x10000) >> 10), 4);
      line.put("\\u");
      line.put_hex(0xdc00 + ((point.value - 0x10000) & 0x3ffU), 4);
    }
    text.remove_prefix(point.bytes);
  }
  if (is_cut) line.put(kCut);
  line.put("\"");
}

void put_string(Line& line, std::string_view text, LogFormat format) {
  const bool is_cut = text.size() > kLogValueBytesMax;
  text = text.substr(0, kLogValueBytesMax);
  if (format == LogFormat::json) return put_json(line, text, is_cut);
  put_text(line, text, is_cut);
}

void put_value(Line& line, const LogField::Value& value, LogFormat format) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    put_string(line, *text, format);
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    line.put(*truth ? "true" : "false");
  } else if (const auto* number = std::get_if<double>(&value)) {
    // JSON has neither NaN nor infinities.
    if (!std::isfinite(*number) && format == LogFormat::json) return line.put("null");
    line.put_number(*number);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    line.put_number(*whole);
  } else {
    line.put_number(std::get<std::uint64_t>(value));
  }
}

void put_field(Line& line, const LogField& field, LogFormat format) {
  line.put(format == LogFormat::json ? ",\"" : " ");
  line.put(field.name);
  line.put(format == LogFormat::json ? "\":" : "=");
  put_value(line, field.value, format);
}

void put_time(Line& line, std::int64_t unix_ms) {
  const std::int64_t ms = ((unix_ms % 1000) + 1000) % 1000;
  const std::time_t seconds = (unix_ms - ms) / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  line.put({text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &parts)});
  if (ms < 100) line.put("0");
  if (ms < 10) line.put("0");
  line.put_number(ms);
  line.put("Z");
}

void put_head(Line& line, const LogEvent& event, LogFormat format) {
  const bool json = format == LogFormat::json;
  if (json) line.put("{\"time\":\"");
  put_time(line, event.unix_ms);
  line.put(json ? "\",\"level\":\"" : " ");
  line.put(log_level_name(event.level));
  line.put(json ? "\",\"event\":\"" : " ");
  line.put(event.kind);
  if (json) line.put("\"");
}

}  // namespace

std::string_view log_level_name(LogLevel level) {
  return kLevelNames[std::min(static_cast<std::size_t>(level), kLevelNames.size() - 1)];
}

base::Result<LogOptions> parse_log_options(std::string_view words, LogOptions options) {
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    words = comma == std::string_view::npos ? std::string_view{} : words.substr(comma + 1);
    const auto level = std::find(kLevelNames.begin(), kLevelNames.end(), word);
    if (level != kLevelNames.end()) {
      options.level = static_cast<LogLevel>(level - kLevelNames.begin());
    } else if (word == "text" || word == "json") {
      options.format = word == "json" ? LogFormat::json : LogFormat::text;
    } else {
      return base::fail(base::Code::invalid_argument, "log",
                        "takes a level (off, error, warn, info or debug), a format (text or "
                        "json), or both with a comma between");
    }
  }
  return options;
}

std::size_t format_log_line(const LogEvent& event, LogFields fields, LogFormat format,
                            std::span<char> room) {
  CHECK(room.size() >= kLogLineBytesMax);
  Line line(room.first(kLogLineBytesMax - kTailBytes));
  put_head(line, event, format);
  CHECK(line.fits());
  std::size_t left_out = 0;
  for (const LogField& field : fields) {
    const std::size_t before = line.used();
    put_field(line, field, format);
    if (line.fits()) continue;
    line.rewind(before);
    ++left_out;
  }
  Line tail(room.subspan(line.used(), kTailBytes));
  if (left_out > 0) put_field(tail, {"left_out", left_out}, format);
  if (format == LogFormat::json) tail.put("}");
  tail.put("\n");
  return line.used() + tail.used();
}

}  // namespace infold::status
