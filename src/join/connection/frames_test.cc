// SPDX-License-Identifier: Apache-2.0
#include "join/connection/frames.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/infold/v1/control.pb.h"

namespace infold::join::testing {
namespace {

constexpr std::size_t kMost = 100;

std::string frame_with(const std::string& message) {
  return std::string{0, 0, 0, static_cast<char>(message.size())} + message;
}

// Reads all frames from pieces of `piece` bytes.
std::vector<std::string> frames_of(std::string_view bytes, std::size_t piece) {
  FrameReader reader(kMost);
  std::vector<std::string> frames;
  while (!bytes.empty()) {
    std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    while (!next.empty()) {
      const FrameReader::Frame frame = reader.next(next);
      if (frame && *frame) frames.emplace_back(**frame);
    }
  }
  return frames;
}

TEST(Frames, AMessageStandsBehindItsLength) {
  v1::JoinReply go;
  go.mutable_go();
  EXPECT_EQ(frame_of(go), std::string("\0\0\0\2\x12\0", 6));
  EXPECT_EQ(keepalive(), std::string(4, '\0'));
}

TEST(Frames, AreReadHoweverTheStreamIsCut) {
  const std::vector<std::string> messages = {"a", "", std::string(kMost, 'b'), "", "", "cd"};
  std::string bytes;
  for (const std::string& message : messages) bytes += frame_with(message);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(frames_of(bytes, piece), messages) << "in pieces of " << piece;
  }
}

TEST(Frames, AreTakenOneByOne) {
  FrameReader reader(kMost);
  const std::string two = frame_with("first") + frame_with("second");
  std::string_view bytes = two;
  EXPECT_EQ(**reader.next(bytes), "first");
  EXPECT_EQ(bytes, frame_with("second"));
  EXPECT_EQ(**reader.next(bytes), "second");
  EXPECT_FALSE(reader.next(bytes)->has_value());
}

// A stranger may send these as often as it likes, so nothing is printed about them.
TEST(Frames, AMessageWhoseTextIsNotUtf8IsRefusedSilently) {
  const std::string hello("\x0a\x05\x12\x03\xc3\x28\xff", 7);  // a job's name
  v1::JoinRequest request;
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(read_message(hello, request));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Frames, ALongerMessageIsRefusedByItsLengthAlone) {
  FrameReader reader(kMost);
  std::string_view bytes("\0\0\0\x65", 4);
  EXPECT_EQ(reader.next(bytes).error().length, kMost + 1);
  FrameReader another(kMost);
  bytes = "PRI * HTTP/2.0";
  EXPECT_EQ(another.next(bytes).error().length, 0x50524920U);
}

}  // namespace
}  // namespace infold::join::testing
