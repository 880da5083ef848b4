// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_session.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "join/connection/tls_testing.h"

namespace infold::join::testing {
namespace {

constexpr char kApplication = 23;

TEST(TlsSession, CarriesTextBothWaysHoweverTheStreamIsCut) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::string::npos}) {
    const auto rank = session_of_rank(), host = session_of_switch();
    rank->begin();
    talk(*rank, *host, piece);
    ASSERT_TRUE(rank->is_open() && host->is_open()) << piece;
    EXPECT_EQ(*rank->shown(), own_identity().fingerprint());
    rank->send("a question");
    host->send("an answer");
    const Heard2 heard = talk(*rank, *host, piece);
    EXPECT_EQ(heard.second, "a question");
    EXPECT_EQ(heard.first, "an answer");
    EXPECT_EQ(host->waiting_bytes(), 0U);
    EXPECT_EQ(ERR_peek_error(), 0U);
  }
}

TEST(TlsSession, ARankTellsNothingToAHostWithAnotherCertificate) {
  const auto rank = session_of_rank(other_identity().fingerprint()), host = session_of_switch();
  rank->begin();
  talk(*rank, *host);
  EXPECT_EQ(rank->fault(), TlsFault::wrong_certificate);
  EXPECT_FALSE(rank->is_open());
  EXPECT_EQ(*rank->shown(), own_identity().fingerprint());
  EXPECT_EQ(host->fault(), TlsFault::told_certificate);
  EXPECT_FALSE(host->is_open());
}

TEST(TlsSession, ACloseNotifyEndsOneDirection) {
  const auto rank = session_of_rank(), host = session_of_switch();
  rank->begin();
  talk(*rank, *host);
  rank->end();
  rank->end();
  talk(*rank, *host);
  EXPECT_TRUE(host->has_ended());
  EXPECT_FALSE(rank->has_ended());
  host->send("still heard");
  EXPECT_EQ(talk(*rank, *host).first, "still heard");
  host->end();
  talk(*rank, *host);
  EXPECT_TRUE(rank->has_ended());
  EXPECT_EQ(received(*host, "what comes after is ignored"), "");
  EXPECT_EQ(host->fault(), TlsFault::none);
}

TEST(TlsSession, EveryChangeOfARecordIsFound) {
  RawEnd rank;
  const auto host = session_of_switch();
  ASSERT_TRUE(rank.meet(*host));
  const std::string record = rank.say("text");
  for (std::size_t i = TlsRecords::kHeadBytes; i < record.size(); ++i) {
    RawEnd again;
    const auto other = session_of_switch();
    ASSERT_TRUE(again.meet(*other));
    std::string changed = again.say("text");
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(received(*other, changed), "") << i;
    EXPECT_EQ(other->fault(), TlsFault::bad_record) << i;
  }
}

TEST(TlsSession, BytesThatAreNotTlsAreFoundAtOnce) {
  for (const char* const bytes : {"P", "GET / HTTP/1.1\r\n\r\n", "\x16\x02", "\x18\x03\x03"}) {
    const auto host = session_of_switch();
    received(*host, bytes);
    EXPECT_EQ(host->fault(), TlsFault::not_tls) << bytes;
  }
  const auto plain = session_of_rank();
  plain->begin();
  received(*plain, std::string("\0\0\0\2", 4));
  EXPECT_EQ(plain->fault(), TlsFault::not_tls);
}

TEST(TlsSession, AnOlderVersionIsRefused) {
  RawEnd rank(false, TLS1_2_VERSION);
  const auto host = session_of_switch();
  EXPECT_FALSE(rank.meet(*host));
  EXPECT_EQ(host->fault(), TlsFault::no_version);
  RawEnd old(true, TLS1_2_VERSION);
  const auto own = session_of_rank();
  own->begin();
  received(*own, old.answer(taken_output(*own)));
  EXPECT_EQ(own->fault(), TlsFault::told_version);
}

TEST(TlsSession, AnAlertInPlaceOfAHandshakeIsUnderstood) {
  constexpr std::pair<int, TlsFault> kAlerts[] = {
      {40, TlsFault::nothing_shared},   {70, TlsFault::told_version}, {80, TlsFault::told_busy},
      {42, TlsFault::told_certificate}, {10, TlsFault::told},         {255, TlsFault::told}};
  for (const auto& [alert, fault] : kAlerts) {
    const auto rank = session_of_rank();
    rank->begin();
    received(*rank, tls_alert(alert));
    EXPECT_EQ(rank->fault(), fault) << alert;
  }
}

TEST(TlsSession, ARecordAboveTheLimitIsRefusedByItsHead) {
  const auto host = session_of_switch();
  constexpr std::size_t kLength = TlsSession::kRankRecordBytesMax + 1;
  received(*host, std::string{22, 3, 1, static_cast<char>(kLength >> 8),
                              static_cast<char>(kLength & 0xff)});
  EXPECT_EQ(host->fault(), TlsFault::long_record);
  EXPECT_EQ(host->waiting_bytes(), TlsRecords::kHeadBytes);
}

TEST(TlsSession, AHandshakeThatNeverEndsIsCutOff) {
  const auto host = session_of_switch();
  std::string record = {22, 3, 1, 0, 4, 1, 0, TlsSession::kHelloBytesMax >> 8, 0};
  std::size_t bytes = 0;
  while (host->fault() == TlsFault::none && bytes < 1 << 20) {
    received(*host, record);
    bytes += record.size();
    record = {22, 3, 1, 0, 1, 'x'};  // a byte of the ClientHello
  }
  EXPECT_EQ(host->fault(), TlsFault::long_handshake);
  EXPECT_LE(bytes, TlsSession::kHandshakeBytesMax + record.size());
}

TEST(TlsSession, AHelloAboveTheLimitIsRefusedByItsLength) {
  const std::string others[] = {{22, 3, 1, 0, 4, 1, 0, 32, 1},   // one byte more
                                {22, 3, 1, 0, 4, 1, 1, 0, 0},    // 65,536 bytes
                                {22, 3, 1, 0, 4, 2, 0, 0, 100},  // no ClientHello
                                {22, 3, 1, 0, 3, 1, 0, 0},       // half of a head
                                {20, 3, 1, 0, 1, 1}};
  for (const std::string& other : others) {
    const auto host = session_of_switch();
    received(*host, other);
    EXPECT_EQ(host->fault(), TlsFault::long_handshake);
  }
  const auto host = session_of_switch();
  received(*host, std::string{22, 3, 1, 0, 4, 1, 0, 32, 0});
  EXPECT_EQ(host->fault(), TlsFault::none);
}

TEST(TlsSession, FewKeyUpdatesAreAnsweredAndAFloodIsCutOff) {
  for (const bool asks_for_answer : {false, true}) {
    RawEnd rank;
    const auto host = session_of_switch();
    ASSERT_TRUE(rank.meet(*host));
    for (int i = 0; i < TlsSession::kLaterMessagesMax; ++i) {
      received(*host, rank.change_keys(asks_for_answer));
      EXPECT_EQ(received(*host, rank.say("text")), "text");
      host->send("answer");  // with the answer to the KeyUpdate
      rank.answer(taken_output(*host));
    }
    EXPECT_EQ(host->fault(), TlsFault::none);
    EXPECT_EQ(rank.heard.size(), 6U * TlsSession::kLaterMessagesMax);
    received(*host, rank.change_keys(asks_for_answer));
    EXPECT_EQ(host->fault(), TlsFault::many_messages);
  }
}

// A rank that asks for answers and takes none.
TEST(TlsSession, TheAnswersToAFloodOfKeyUpdatesAreFew) {
  RawEnd rank;
  const auto host = session_of_switch();
  ASSERT_TRUE(rank.meet(*host));
  while (host->fault() == TlsFault::none) received(*host, rank.change_keys(true));
  EXPECT_EQ(host->fault(), TlsFault::many_messages);
  EXPECT_LT(host->output().size(), 1024U);
}

TEST(TlsSession, AMessageThatIsCutIsRefused) {
  RawEnd rank;
  const auto host = session_of_switch();
  ASSERT_TRUE(rank.meet(*host));
  received(*host, rank.forged(22, std::string{24, 0, 0, 1}));  // the head of a KeyUpdate
  EXPECT_EQ(host->fault(), TlsFault::bad_message);
}

TEST(TlsSession, EmptyRecordsAreCutOff) {
  RawEnd rank;
  const auto host = session_of_switch();
  ASSERT_TRUE(rank.meet(*host));
  EXPECT_EQ(received(*host, rank.forged(kApplication, "text")), "text");
  int records = 0;
  while (host->fault() == TlsFault::none && records < 100) {
    EXPECT_EQ(received(*host, rank.forged(kApplication, "")), "");
    ++records;
  }
  EXPECT_EQ(host->fault(), TlsFault::bad_message);
  EXPECT_LE(records, 33);
}

TEST(TlsSession, OtherMessagesAfterTheHandshakeAreRefused) {
  const std::string client_hello = {1, 0, 0, 0}, certificate = {11, 0, 0, 0}, ticket = {4, 0, 0, 0};
  for (const std::string& message : {client_hello, certificate, ticket}) {
    RawEnd rank;
    const auto host = session_of_switch();
    ASSERT_TRUE(rank.meet(*host));
    received(*host, rank.forged(22, message));
    EXPECT_EQ(host->fault(), TlsFault::bad_message) << int{message[0]};
  }
}

// A switch that a stranger has written sends two tickets, unless its author turns them off.
TEST(TlsSession, ARankTakesTickets) {
  RawEnd host(true);
  const auto rank = session_of_rank();
  rank->begin();
  std::string text;
  while (!rank->output().empty()) text += received(*rank, host.answer(taken_output(*rank)));
  ASSERT_TRUE(rank->is_open());
  EXPECT_EQ(received(*rank, host.say(std::string(TlsSession::kTextBytesMax, 'x'))).size(),
            TlsSession::kTextBytesMax);
  EXPECT_EQ(rank->fault(), TlsFault::none);
  while (rank->fault() == TlsFault::none) received(*rank, host.change_keys(false));
  EXPECT_EQ(rank->fault(), TlsFault::many_messages);
}

TEST(TlsSession, EachFaultHasASentence) {
  for (int i = 1; i <= static_cast<int>(TlsFault::out_of_memory); ++i) {
    EXPECT_GT(std::string_view(text_of(static_cast<TlsFault>(i))).size(), 20U) << i;
  }
}

}  // namespace
}  // namespace infold::join::testing
