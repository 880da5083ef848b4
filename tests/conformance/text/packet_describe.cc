// SPDX-License-Identifier: Apache-2.0
//
// Describes bytes in words, for people who read a failure.
#include <cstdio>

#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {
namespace {

std::uint64_t take_big(const std::vector<std::byte>& in, std::size_t at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) value = value << 8 | std::to_integer<unsigned>(in[at + i]);
  return value;
}

}  // namespace

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char pair[4];
    std::snprintf(pair, sizeof pair, "%02x", std::to_integer<unsigned>(bytes[i]));
    if (i > 0) text += i % 32 == 0 ? "\n      " : i % 8 == 0 ? "  " : " ";
    text += pair;
  }
  return text;
}

std::string describe(const std::vector<std::byte>& datagram) {
  std::string text = "no header";
  if (datagram.size() >= INFOLD_HEADER_BYTES) {
    const auto field = [&](std::size_t at, unsigned width) {
      return std::to_string(take_big(datagram, at, width));
    };
    text = std::string(kind_name(static_cast<unsigned>(take_big(datagram, 1, 1)) & 0xF)) +
           " flags " + field(2, 1) + " worker " + field(3, 1) + " job " + field(4, 2) + " slot " +
           field(6, 2) + " epoch " + field(8, 4) + " round " + field(12, 4) + " elements " +
           field(16, 2) + " format " + field(18, 1) + " operation " + field(19, 1) + " shape " +
           field(20, 4) + " count " + field(24, 2) + " weight " + field(26, 2) + " digest " +
           field(28, 4);
  }
  return text + " (" + std::to_string(datagram.size()) + " bytes)\n      " + hex(datagram);
}

}  // namespace infold::conformance
