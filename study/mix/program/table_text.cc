// SPDX-License-Identifier: Apache-2.0
//
// Splits lines and fields, and parses numbers.
#include "study/mix/program/table_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/plain_text.h"

namespace infold::mix {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Removes the text up to the mark, and the mark, from the front. Returns the text before the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <typename Number>
std::optional<Number> parse_all(std::string_view typed) {
  Number value = 0;
  const char* const end = typed.data() + typed.size();
  const auto [stop, error] = std::from_chars(typed.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

bool TableText::next() {
  while (!rest_.empty()) {
    ++number_;
    std::string_view line = take_until(rest_, '\n');
    row_ = trimmed(take_until(line, '#'));
    if (!row_.empty()) return true;
  }
  return false;
}

std::string TableText::split(std::span<std::string_view> fields, std::string_view names) const {
  const auto found = static_cast<std::size_t>(std::count(row_.begin(), row_.end(), ',')) + 1;
  if (found != fields.size()) {
    return fmt::format("{} fields, not {}: {}", found, fields.size(), names);
  }
  std::string_view rest = row_;
  for (std::string_view& field : fields) field = trimmed(take_until(rest, ','));
  return "";
}

std::string quoted(std::string_view typed) {
  constexpr std::size_t kShownMax = 40;
  return fmt::format("'{}{}'", base::printable(typed.substr(0, kShownMax)),
                     typed.size() > kShownMax ? "..." : "");
}

std::optional<std::uint32_t> parse_whole(std::string_view typed, std::uint32_t most) {
  const auto value = parse_all<std::uint32_t>(typed);
  if (!value || *value < 1 || *value > most) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view typed, double most) {
  const auto value = parse_all<double>(typed);
  if (!value || !std::isfinite(*value) || *value < 0 || *value > most) return std::nullopt;
  return value;
}

}  // namespace infold::mix
