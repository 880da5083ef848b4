// SPDX-License-Identifier: Apache-2.0
//
// First bytes with TLS, and bytes that meet a server of the other kind.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/connection/tls_testing.h"
#include "join/service/door/first_contact.h"
#include "join/service/parse_request.h"

namespace infold::join::testing {
namespace {

using Step = FirstContact::Step;
using ::testing::HasSubstr;

const TlsContext& context() {
  static const auto kContext = *TlsContext::of_switch(own_identity());
  return *kContext;
}

std::string hello_bytes() {
  v1::JoinRequest request;
  request.mutable_hello()->set_job("job");
  return frame_of(request);
}

v1::JoinReply first_reply(const std::string& output) {
  FrameReader reader(1 << 16);
  std::string_view bytes = output;
  v1::JoinReply reply;
  FrameReader::Frame frame = reader.next(bytes);
  while (frame && *frame && (*frame)->empty()) frame = reader.next(bytes);
  EXPECT_TRUE(frame && *frame && reply.ParseFromString(std::string(**frame)));
  return reply;
}

// Gives a contact bytes in pieces, and lets it shake hands when it asks.
Step given(FirstContact& contact, const std::string& bytes, std::size_t piece = std::string::npos) {
  Step step = Step::listens;
  for (std::size_t i = 0; i < bytes.size() && step != Step::is_refused;) {
    const std::string_view next = std::string_view(bytes).substr(i, piece);
    i += next.size();
    step = contact.receive(next);
    if (step == Step::asks) step = contact.shake_hands();
  }
  return step;
}

bool shake_hands(FirstContact& contact, RawEnd& rank, std::size_t piece = std::string::npos) {
  std::string bytes = rank.answer();
  while (!bytes.empty() && given(contact, bytes, piece) == Step::listens) {
    bytes = rank.answer(contact.take_output());
  }
  return SSL_is_init_finished(rank.ssl()) != 0;
}

TEST(FirstContactTls, EndsWithTheHelloAndKeepsTheRestDecrypted) {
  for (const std::size_t piece : {std::size_t{1}, std::string::npos}) {
    FirstContact contact(&context());
    RawEnd rank;
    ASSERT_TRUE(shake_hands(contact, rank, piece));
    EXPECT_EQ(given(contact, rank.say(keepalive()), piece), Step::listens);
    rank.answer(contact.take_output());
    EXPECT_EQ(rank.heard, keepalive());
    std::string bytes = rank.say(hello_bytes() + "rest");
    bytes += rank.say(" and more");
    EXPECT_EQ(given(contact, bytes, piece), Step::has_hello);
    EXPECT_EQ(contact.hello().hello().job(), "job");
    EXPECT_EQ(contact.take_rest(), "rest and more");
    const std::unique_ptr<TlsSession> session = contact.take_session();
    EXPECT_EQ(received(*session, rank.say("later")), "later");
  }
}

TEST(FirstContactTls, TakesNoPlaceBeforeItMay) {
  FirstContact contact(&context());
  RawEnd rank;
  EXPECT_EQ(contact.receive(rank.answer()), Step::asks);
  EXPECT_EQ(contact.take_output(), "");
  EXPECT_EQ(contact.shake_hands(), Step::listens);
  EXPECT_GT(contact.take_output().size(), 500U);
}

TEST(FirstContactTls, ThatIsTurnedAwayHearsAnAlert) {
  FirstContact contact(&context());
  const auto rank = session_of_rank();
  rank->begin();
  EXPECT_EQ(contact.receive(taken_output(*rank)), Step::asks);
  EXPECT_EQ(contact.turn_away({RefusalReason::full, "no room", -1}), Step::is_refused);
  EXPECT_EQ(contact.reason(), "no room");
  received(*rank, contact.take_output());
  EXPECT_EQ(rank->fault(), TlsFault::told_busy);
}

TEST(FirstContactTls, RefusalsCanBeRead) {
  FirstContact contact(&context());
  RawEnd rank;
  ASSERT_TRUE(shake_hands(contact, rank));
  EXPECT_EQ(given(contact, rank.say(std::string("\0\0\x10\1", 4))), Step::is_refused);
  rank.answer(contact.take_output());
  EXPECT_THAT(first_reply(rank.heard).refused().message(), HasSubstr("4096 are allowed"));
  EXPECT_EQ(SSL_get_shutdown(rank.ssl()), SSL_RECEIVED_SHUTDOWN);
}

TEST(FirstContactTls, APlainRankHearsThatTheSwitchUsesKeys) {
  for (const std::string& bytes : {hello_bytes(), keepalive(), std::string("\0", 1),
                                   std::string("PUT / HTTP/1.1\r\n"), std::string("\x15\3\3")}) {
    FirstContact contact(&context());
    EXPECT_EQ(contact.receive(bytes), Step::is_refused);
    const v1::JoinReply reply = first_reply(contact.take_output());
    EXPECT_EQ(reply.refused().reason(), v1::Refused::INVALID);
    EXPECT_THAT(reply.refused().message(), HasSubstr("this switch uses keys"));
    EXPECT_THAT(reply.refused().message(), HasSubstr("host:port#fingerprint.token"));
  }
}

TEST(FirstContactTls, AnOldRankStillHearsThatItIsOld) {
  FirstContact contact(&context());
  const std::string call("\0\0\1\1\4\0\0\0\1\x82", 10);
  EXPECT_EQ(contact.receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + call), Step::is_refused);
  EXPECT_THAT(contact.take_output(), HasSubstr("install the version of infold"));
}

TEST(FirstContactTls, WithoutACertificateTlsHearsAnAlert) {
  FirstContact contact;
  const auto rank = session_of_rank();
  rank->begin();
  EXPECT_EQ(contact.receive(taken_output(*rank)), Step::is_refused);
  EXPECT_THAT(contact.reason(), HasSubstr("--insecure"));
  received(*rank, contact.take_output());
  EXPECT_EQ(rank->fault(), TlsFault::told_version);
}

TEST(FirstContactTls, AFaultIsToldInOurWords) {
  FirstContact contact(&context());
  RawEnd rank(false, TLS1_2_VERSION);
  EXPECT_EQ(given(contact, rank.answer()), Step::is_refused);
  EXPECT_EQ(contact.reason(), "a connection with TLS: it does not offer TLS 1.3");
  EXPECT_EQ(contact.take_output().size(), 7U);  // an alert
}

TEST(FirstContactTls, ALateOneIsRefusedWhereItCanReadThat) {
  const Refusal late = {RefusalReason::too_late, "late", -1};
  FirstContact silent(&context()), begun(&context()), open(&context());
  silent.refuse(late);
  EXPECT_EQ(first_reply(silent.take_output()).refused().message(), "late");
  RawEnd rank;
  given(begun, rank.answer());
  begun.take_output();
  begun.refuse(late);
  EXPECT_EQ(begun.take_output(), "");
  RawEnd other;
  ASSERT_TRUE(shake_hands(open, other));
  open.refuse(late);
  other.answer(open.take_output());
  EXPECT_EQ(first_reply(other.heard).refused().message(), "late");
}

// A Hello in records of one byte each takes most bytes of all that are allowed.
TEST(FirstContactTls, AHelloInTinyRecordsIsTakenOnce) {
  FirstContact contact(&context());
  RawEnd rank;
  ASSERT_TRUE(shake_hands(contact, rank));
  Step step = Step::listens;
  std::size_t bytes = 0;
  for (const char byte : std::string("\0\0\x0f\xff", 4) + std::string(4095, 'x')) {
    const std::string record = rank.say(std::string(1, byte));
    bytes += record.size();
    step = given(contact, record);
    if (step == Step::is_refused) break;
  }
  EXPECT_EQ(step, Step::is_refused);
  EXPECT_LE(bytes, std::size_t{65} << 10);
  EXPECT_THAT(contact.reason(), HasSubstr("longer than the limit"));
}

}  // namespace
}  // namespace infold::join::testing
