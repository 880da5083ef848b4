// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/first_contact.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/service/parse_request.h"

namespace infold::join::testing {
namespace {

using Step = FirstContact::Step;
using ::testing::HasSubstr;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string hello_frame() {
  v1::JoinRequest request;
  request.mutable_hello()->set_job("job");
  return frame_of(request);
}

v1::JoinReply reply_in(const std::string& output) {
  FrameReader reader(1 << 16);
  std::string_view bytes = output;
  v1::JoinReply reply;
  const FrameReader::Frame frame = reader.next(bytes);
  EXPECT_TRUE(frame && *frame && reply.ParseFromString(std::string(**frame)));
  return reply;
}

TEST(FirstContact, EndsWithTheHelloAndLeavesTheRest) {
  FirstContact contact;
  const std::string bytes = keepalive() + hello_frame() + "rest";
  EXPECT_EQ(contact.receive(bytes), Step::has_hello);
  EXPECT_EQ(contact.hello().hello().job(), "job");
  EXPECT_EQ(contact.take_rest(), "rest");
  EXPECT_EQ(contact.take_output(), keepalive());
  EXPECT_EQ(contact.take_output(), "");
}

TEST(FirstContact, WaitsForAHelloThatComesByteByByte) {
  FirstContact contact;
  const std::string bytes = hello_frame();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::string_view next = std::string_view(bytes).substr(i, 1);
    EXPECT_EQ(contact.receive(next), i + 1 < bytes.size() ? Step::listens : Step::has_hello);
  }
}

TEST(FirstContact, RefusesWhatIsNoHello) {
  v1::JoinRequest ready;
  ready.mutable_ready();
  for (const std::string& message : {frame_of(ready), std::string("\0\0\0\1\xff", 5)}) {
    FirstContact contact;
    EXPECT_EQ(contact.receive(message), Step::is_refused);
    const v1::JoinReply reply = reply_in(contact.take_output());
    EXPECT_EQ(reply.refused().message(), "the first message is not a Hello");
  }
}

TEST(FirstContact, RefusesALongMessageByItsLength) {
  FirstContact contact;
  EXPECT_EQ(contact.receive({"\0\0\x10\1", 4}), Step::is_refused);
  EXPECT_EQ(contact.reason(), "a message of 4097 bytes was announced, but 4096 are allowed");
}

TEST(FirstContact, RefusesAFloodOfKeepalives) {
  FirstContact contact;
  std::string flood;
  for (int i = 0; i < 17; ++i) flood += keepalive();
  EXPECT_EQ(contact.receive(flood), Step::is_refused);
  EXPECT_EQ(contact.reason(), "too many keepalives before the Hello");
}

// What an earlier version of infold sends first: the preface, its settings, and a call.
TEST(FirstContact, TellsAnOldRankInItsOwnLanguage) {
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string call("\0\0\1\1\4\0\0\0\1\x82", 10);
  const std::string bytes = std::string(kPreface) + settings + call;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    FirstContact contact;
    Step step = contact.receive(std::string_view(bytes).substr(0, cut));
    if (step == Step::listens) step = contact.receive(std::string_view(bytes).substr(cut));
    ASSERT_EQ(step, Step::is_refused) << "cut at " << cut;
    const std::string output = contact.take_output();
    EXPECT_EQ(output.substr(0, 9), settings);
    EXPECT_THAT(output, HasSubstr("install the version of infold that the switch has"));
  }
}

TEST(FirstContact, KeepsOnlySoMuchOfAnOldRank) {
  FirstContact contact;
  const std::string endless = std::string(kPreface) + std::string(8192, '\x7f');
  EXPECT_EQ(contact.receive(endless), Step::is_refused);
}

}  // namespace
}  // namespace infold::join::testing
