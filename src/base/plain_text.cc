// SPDX-License-Identifier: Apache-2.0
#include "base/plain_text.h"

#include <algorithm>
#include <array>

namespace infold::base {
namespace {

bool is_hidden(std::uint32_t value) {
  const bool is_c0 = value < 0x20 && value != '\n';
  const bool is_c1 = value >= 0x7f && value < 0xa0;
  const bool is_separator = value == 0x2028 || value == 0x2029;
  const bool is_mark = value == 0x061c || value == 0x200e || value == 0x200f;
  const bool is_embedding = value >= 0x202a && value <= 0x202e;
  const bool is_isolate = value >= 0x2066 && value <= 0x2069;
  return is_c0 || is_c1 || is_separator || is_mark || is_embedding || is_isolate;
}

}  // namespace

CodePoint decode_first(std::string_view text) {
  constexpr CodePoint kBroken = {0xfffd, 1};
  const auto byte = [text](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return kBroken;
  std::uint32_t value = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return kBroken;
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[bytes] || value > 0x10ffff || is_surrogate) return kBroken;
  return {value, bytes};
}

std::string plain_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const CodePoint point = decode_first(text);
    const bool is_broken = point.bytes == 1 && point.value >= 0x80;
    if (is_broken || is_hidden(point.value)) {
      shown += '?';
    } else {
      shown += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return shown;
}

bool is_plain_line(std::string_view text) {
  return text.find('\n') == text.npos && plain_text(text) == text;
}

std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  return shown;
}

}  // namespace infold::base
