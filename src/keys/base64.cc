// SPDX-License-Identifier: Apache-2.0
#include "keys/base64.h"

#include <cstdint>

namespace infold::keys {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = held << 8 | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= 6; bits -= 6) text += kBase64Digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += kBase64Digits[held << (6 - bits) & 63];
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char digit : text) {
    const std::size_t value = kBase64Digits.find(digit);
    if (value == kBase64Digits.npos) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  // The bits that fill the last digit are zeros, so that two texts never mean the same bytes.
  if ((held & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace infold::keys
