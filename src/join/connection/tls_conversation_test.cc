// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_conversation.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/connection/tls_testing.h"

namespace infold::join::testing {
namespace {

constexpr base::Instant kNow{1};

// Notes what it hears, and says what a test wants.
class NotedInner final : public Conversation {
 public:
  void begin(Waker, base::Instant) override {}
  void closed() override { is_closed = true; }
  std::size_t room(base::Instant) override { return 4100; }
  void receive(std::string_view bytes, base::Instant) override { heard += bytes; }
  void note_overhead(std::size_t bytes, base::Instant) override { overhead += bytes; }
  void hear_end(const std::string& why) override { ends.push_back(why); }
  std::string_view output(base::Instant) override {
    return says.empty() ? std::string_view() : std::string_view(says.front());
  }
  void sent(std::size_t bytes, base::Instant) override {
    sent_bytes += bytes;
    says.front().erase(0, bytes);
    if (says.front().empty()) says.pop_front();
  }
  base::Instant deadline() override { return base::Instant::never(); }
  void pass(base::Instant) override {}
  Wish wish() override { return wants; }

  std::deque<std::string> says;
  std::string heard;
  std::size_t overhead = 0, sent_bytes = 0;
  std::vector<std::string> ends;
  Wish wants = Wish::talk;
  bool is_closed = false;
};

struct TlsEnd {
  explicit TlsEnd(std::unique_ptr<TlsSession> session)
      : conversation(std::move(session), inner,
                     [this](const TlsSession& failed) { faults.push_back(failed.fault()); }) {
    conversation.begin([] {}, kNow);
  }
  std::string say(std::size_t most = std::string::npos) {
    const std::string bytes(conversation.output(kNow).substr(0, most));
    conversation.sent(bytes.size(), kNow);
    return bytes;
  }
  void hear(const std::string& bytes) {
    if (!bytes.empty()) conversation.receive(bytes, kNow);
  }

  const std::shared_ptr<NotedInner> inner = std::make_shared<NotedInner>();
  std::vector<TlsFault> faults;
  TlsConversation conversation;
};

// As two loops do, until nothing is left to say.
void converse(TlsEnd& first, TlsEnd& second, std::size_t piece = std::string::npos) {
  for (;;) {
    const std::string one = first.say(piece);
    second.hear(one);
    const std::string other = second.say(piece);
    first.hear(other);
    if (one.empty() && other.empty()) return;
  }
}

TEST(TlsConversation, CarriesWhatTheInnerOnesSay) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, std::string::npos}) {
    TlsEnd rank(session_of_rank()), host(session_of_switch());
    const std::string large(20'000, 'x');
    rank.inner->says = {"question", "another"};
    host.inner->says = {large, "end"};
    converse(rank, host, piece);
    EXPECT_EQ(host.inner->heard, "questionanother");
    EXPECT_EQ(rank.inner->heard, large + "end");
    EXPECT_EQ(rank.inner->sent_bytes, 15U);
    EXPECT_EQ(host.inner->sent_bytes, large.size() + 3);
    EXPECT_TRUE(rank.faults.empty() && host.faults.empty());
  }
}

TEST(TlsConversation, WhatIsSaidCountsAsSentOnceAllOfItIsOnItsWay) {
  TlsEnd rank(session_of_rank()), host(session_of_switch());
  converse(rank, host);
  rank.inner->says = {"question"};
  rank.say(10);
  EXPECT_EQ(rank.inner->sent_bytes, 0U);
  rank.say();
  EXPECT_EQ(rank.inner->sent_bytes, 8U);
}

// Everything that comes counts, but only text is a sign of life.
TEST(TlsConversation, BytesAroundTheTextAreCounted) {
  RawEnd rank;
  auto session = session_of_switch();
  ASSERT_TRUE(rank.meet(*session));
  TlsEnd host(std::move(session));
  std::string bytes = rank.say("text");
  host.hear(bytes.substr(0, 3));
  EXPECT_EQ(host.inner->overhead, 0U);
  host.hear(bytes.substr(3));
  EXPECT_EQ(host.inner->heard, "text");
  EXPECT_EQ(host.inner->overhead, bytes.size() - 4);
  bytes = rank.change_keys(false);
  const std::size_t before = host.inner->overhead;
  host.hear(bytes);
  EXPECT_EQ(host.inner->overhead, before + bytes.size());
}

TEST(TlsConversation, EndsTlsBeforeTheConnection) {
  TlsEnd rank(session_of_rank()), host(session_of_switch());
  rank.inner->says = {"leave"};
  rank.inner->wants = Conversation::Wish::finish;
  EXPECT_EQ(rank.conversation.wish(), Conversation::Wish::talk) << "the handshake comes first";
  converse(rank, host);
  EXPECT_EQ(rank.conversation.wish(), Conversation::Wish::finish);
  EXPECT_EQ(host.inner->heard, "leave");
  EXPECT_EQ(host.inner->ends, std::vector<std::string>{""});
  host.inner->says = {"still heard"};
  host.inner->wants = Conversation::Wish::finish;
  converse(rank, host);
  EXPECT_EQ(rank.inner->heard, "still heard");
  EXPECT_EQ(rank.inner->ends, std::vector<std::string>{""});
  rank.conversation.hear_end("");  // the connection's own end
  EXPECT_EQ(rank.inner->ends.size(), 1U);
  EXPECT_TRUE(rank.faults.empty() && host.faults.empty());
}

TEST(TlsConversation, AFaultIsToldOnceAndEndsTheConnectionAfterTheAlert) {
  TlsEnd rank(session_of_rank(other_identity().fingerprint())), host(session_of_switch());
  rank.inner->says = {"secret"};
  host.hear(rank.say());
  rank.hear(host.say());
  EXPECT_EQ(rank.faults, std::vector<TlsFault>{TlsFault::wrong_certificate});
  EXPECT_EQ(rank.inner->ends, std::vector<std::string>{text_of(TlsFault::wrong_certificate)});
  EXPECT_EQ(rank.conversation.wish(), Conversation::Wish::close);
  const std::string alert = rank.say();
  EXPECT_FALSE(alert.empty());
  host.hear(alert);
  EXPECT_EQ(host.faults, std::vector<TlsFault>{TlsFault::told_certificate});
  EXPECT_EQ(host.conversation.wish(), Conversation::Wish::close);
  EXPECT_EQ(host.inner->heard, "");
  rank.hear(alert);
  rank.conversation.hear_end("reset");
  EXPECT_EQ(rank.faults.size() + rank.inner->ends.size(), 2U);
}

TEST(TlsConversation, AConnectionThatEndsWithoutACloseNotifyHasEnded) {
  TlsEnd rank(session_of_rank()), host(session_of_switch());
  converse(rank, host);
  host.conversation.hear_end("");
  EXPECT_EQ(host.inner->ends, std::vector<std::string>{""});
  host.conversation.closed();
  EXPECT_TRUE(host.inner->is_closed);
}

// The session may have ended while the door had it.
TEST(TlsConversation, AnEndBeforeTheConversationIsTold) {
  RawEnd rank;
  auto session = session_of_switch();
  ASSERT_TRUE(rank.meet(*session));
  SSL_shutdown(rank.ssl());
  received(*session, rank.said());
  TlsEnd host(std::move(session));
  EXPECT_EQ(host.inner->ends, std::vector<std::string>{""});
}

}  // namespace
}  // namespace infold::join::testing
