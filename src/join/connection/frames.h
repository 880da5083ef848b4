// SPDX-License-Identifier: Apache-2.0
//
// The messages of a join connection as bytes (spec/joining.md, J-001). Each message stands behind
// its length: four bytes, the most significant first. A length of 0 is a keepalive.
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>
#include <tl/expected.hpp>

namespace infold::join {

inline constexpr std::size_t kLengthBytes = 4;

std::string frame_of(const google::protobuf::MessageLite& message);
// Reads a frame's message from bytes that anybody may have sent. Returns false if they are not one.
// Protobuf alone would print a line about some of them, as often as a stranger likes.
bool read_message(std::string_view bytes, google::protobuf::MessageLite& message);
// Returns a frame without a message.
std::string keepalive();

// Takes frames out of a stream of bytes. Memory grows with the bytes that have come, never with a
// length that was only announced.
class FrameReader {
 public:
  struct TooLong {
    std::uint32_t length = 0;  // as announced
  };
  using Frame = tl::expected<std::optional<std::string_view>, TooLong>;

  explicit FrameReader(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  // Takes bytes off the front of `bytes`, at most up to the end of a frame. Returns the frame's
  // message, or nothing if the frame still lacks bytes. The message of a keepalive is empty, and
  // each message stays valid until the next call. After TooLong the stream cannot be read further.
  Frame next(std::string_view& bytes);

 private:
  const std::size_t message_bytes_max_;
  std::string frame_;  // as much of it as has come
  bool is_whole_ = false;
};

}  // namespace infold::join
