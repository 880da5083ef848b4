// SPDX-License-Identifier: Apache-2.0
#include "join/connection/http2_refusal.h"

#include <cstddef>
#include <cstdint>

namespace infold::join {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kHeadBytes = 9;
constexpr char kHeaders = 1;
constexpr char kSettings = 4;
constexpr char kEndsStreamAndHeaders = 0x5;
constexpr std::uint8_t kFirstCall = 1;  // the number of a client's first stream

std::string frame(char type, char flags, std::uint8_t stream, std::string_view body) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(body.size() >> shift));
  frame += {type, flags, 0, 0, 0, static_cast<char>(stream)};
  frame += body;
  return frame;
}

// A string of HPACK (RFC 7541, 5.2) without Huffman's code, at most 253 bytes long.
std::string text(std::string_view bytes) {
  constexpr std::size_t kOneByte = 127;
  std::string coded;
  if (bytes.size() < kOneByte) {
    coded.push_back(static_cast<char>(bytes.size()));
  } else {
    coded.push_back(static_cast<char>(kOneByte));
    coded.push_back(static_cast<char>(bytes.size() - kOneByte));
  }
  return coded += bytes;
}

// A field that the client does not add to its table.
std::string field(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + text(name) + text(value);
}

}  // namespace

std::string http2_settings() { return frame(kSettings, 0, 0, ""); }

bool http2_has_call(std::string_view bytes) {
  if (bytes.size() < kPreface.size()) return false;
  bytes.remove_prefix(kPreface.size());
  while (bytes.size() >= kHeadBytes) {
    if (bytes[3] == kHeaders) return true;
    std::size_t length = 0;
    for (const char byte : bytes.substr(0, 3))
      length = length << 8 | static_cast<std::uint8_t>(byte);
    if (bytes.size() < kHeadBytes + length) return false;
    bytes.remove_prefix(kHeadBytes + length);
  }
  return false;
}

std::string http2_refusal(std::string_view why) {
  constexpr char kStatus200 = '\x88';  // in HPACK's static table
  constexpr std::string_view kFailedPrecondition = "9";
  return frame(kHeaders, kEndsStreamAndHeaders, kFirstCall,
               kStatus200 + field("content-type", "application/grpc") +
                   field("grpc-status", kFailedPrecondition) + field("grpc-message", why));
}

}  // namespace infold::join
