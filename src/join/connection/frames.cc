// SPDX-License-Identifier: Apache-2.0
#include "join/connection/frames.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/stubs/logging.h>

namespace infold::join {
namespace {

// A buffer that has grown beyond this is given back after its frame, so that an idle connection
// holds little memory.
constexpr std::size_t kKeptBytes = 512;

std::uint32_t length_of(std::string_view frame) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length = length << 8 | static_cast<std::uint8_t>(frame[i]);
  }
  return length;
}

void take(std::string& to, std::string_view& from, std::size_t whole_bytes) {
  const std::size_t bytes = std::min(whole_bytes - to.size(), from.size());
  to.append(from.substr(0, bytes));
  from.remove_prefix(bytes);
}

}  // namespace

std::string frame_of(const google::protobuf::MessageLite& message) {
  const std::size_t bytes = message.ByteSizeLong();
  std::string frame;
  frame.reserve(kLengthBytes + bytes);
  for (std::size_t i = kLengthBytes; i-- > 0;) frame.push_back(static_cast<char>(bytes >> 8 * i));
  message.AppendToString(&frame);
  return frame;
}

bool read_message(std::string_view bytes, google::protobuf::MessageLite& message) {
  const google::protobuf::LogSilencer silence;
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::string keepalive() { return std::string(kLengthBytes, '\0'); }

FrameReader::Frame FrameReader::next(std::string_view& bytes) {
  if (std::exchange(is_whole_, false)) {
    frame_.clear();
    if (frame_.capacity() > kKeptBytes) std::string().swap(frame_);
  }
  if (frame_.size() < kLengthBytes) take(frame_, bytes, kLengthBytes);
  if (frame_.size() < kLengthBytes) return std::nullopt;
  const std::uint32_t length = length_of(frame_);
  if (length > message_bytes_max_) return tl::unexpected(TooLong{length});
  take(frame_, bytes, kLengthBytes + length);
  if (frame_.size() < kLengthBytes + length) return std::nullopt;
  is_whole_ = true;
  return std::string_view(frame_).substr(kLengthBytes);
}

}  // namespace infold::join
