// SPDX-License-Identifier: Apache-2.0
//
// Tokens at a server: which ranks join, what the others are told, and that no text of ours shows a
// token.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/client/job_link.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNow = 1'800'000'000;

keys::Secret secret_with(unsigned char byte) {
  keys::Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

class Tokens : public ::testing::Test {
 protected:
  Tokens() {
    ServerOptions options;
    options.on_event = [this](const JoinEvent& event) { note(event); };
    options.limits.connections_max = 8;
    options.limits.connections_of_address_max = 2;
    options.tokens = TokenCheck(keyring_, [this] { return now_.load(); });
    server_ = std::move(
        *JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry_, options));
  }

  static std::string token(const keys::Grant& grant, unsigned char secret = 1) {
    return *keys::make_token(grant, secret_with(secret));
  }
  Answer<std::unique_ptr<JobLink>> join(const std::string& token, Hello own = hello_of(0, 1)) {
    tokens_.push_back(token);
    own.token = token;
    return JobLink::join(server_->address().text(), own, {});
  }
  void expect_refused(const std::string& token, const char* why, const Hello& own = hello_of(0, 1),
                      RefusalReason reason = RefusalReason::not_permitted) {
    const auto link = join(token, own);
    ASSERT_FALSE(link.has_value()) << why;
    EXPECT_EQ(link.error().reason, reason);
    EXPECT_THAT(link.error().message, HasSubstr(why));
    shown_ += link.error().message;
  }
  void TearDown() override {
    server_.reset();
    const base::MutexLock lock(mutex_);
    for (const std::string& each : tokens_) {
      if (each.size() > 20) {
        EXPECT_THAT(shown_, Not(HasSubstr(each.substr(0, 20))));
        EXPECT_THAT(events_, Not(HasSubstr(each.substr(0, 20))));
      }
    }
  }
  std::string events() {
    const base::MutexLock lock(mutex_);
    return events_;
  }

  std::atomic<std::int64_t> now_ = kNow;
  const std::shared_ptr<keys::LiveKeyring> keyring_ =
      std::make_shared<keys::LiveKeyring>(keys::Keyring{secret_with(1), secret_with(2), {13}});

 private:
  void note(const JoinEvent& event) {
    const base::MutexLock lock(mutex_);
    events_ += event.job + event.address + event.reason + "\n";
  }

  base::Mutex mutex_;
  std::string events_ GUARDED_BY(mutex_);
  std::string shown_;
  std::vector<std::string> tokens_;
  FakePlane plane_{1, 1000};
  JobRegistry registry_{&plane_, {.on_event = [this](const JoinEvent& event) { note(event); }}};
  std::unique_ptr<JoinServer> server_;
};

TEST_F(Tokens, LetRanksJoin) {
  const auto link = join(token({.id = 1, .job = "job", .not_after = kNow}));
  ASSERT_TRUE(link.has_value()) << link.error().message;
  EXPECT_TRUE((*link)->ready({}).has_value());
  EXPECT_TRUE(join(token({.id = 1}, 2), hello_of(0, 1, "other")).has_value())
      << "the previous secret";
}

TEST_F(Tokens, ThatDoNotCountAreRefusedWithTheReason) {
  expect_refused("", "this rank has no token");
  expect_refused("nonsense", "the token is malformed");
  expect_refused(token({.id = 1}, 3), "not made with a secret of this switch");
  expect_refused(token({.id = 1, .not_after = kNow - 1}), "the token has expired");
  expect_refused(token({.id = 13}), "the token was revoked");
  expect_refused(token({.id = 1, .job = "other"}), "for a job of another name");
  Hello rack = hello_of(0, 1);
  rack.rack = RackHello{"life", "10.0.0.2:1", 1};
  expect_refused(token({.id = 1}), "does not let a rack's switch speak for ranks", rack);
  expect_refused(token({.id = 1, .ranks_max = 1}), "the token is for 1 ranks", hello_of(0, 2));
  EXPECT_THAT(events(), HasSubstr("the token has expired"));
}

TEST_F(Tokens, OfARackLetItsSwitchSpeakForRanks) {
  Hello rack = hello_of(0, 1);
  rack.rack = RackHello{"life", "10.0.0.2:1", 1};
  const auto link = join(token({.id = 1, .speaks_for_ranks = true}), rack);
  EXPECT_TRUE(link.has_value()) << link.error().message;
}

// Nothing else of a stranger's Hello may count, not even to be refused.
TEST_F(Tokens, AreCheckedBeforeAnythingElse) {
  Hello odd = hello_of(5, 1);  // no such rank
  expect_refused("", "this rank has no token", odd);
  expect_refused(token({.id = 1}), "rank 5 of 1 is out of range", odd, RefusalReason::invalid);
}

TEST_F(Tokens, AreReadAgainWhileTheServerRuns) {
  const std::string own = token({.id = 1});
  const auto first = join(own);
  ASSERT_TRUE(first.has_value());
  keyring_->replace({secret_with(1), {}, {1}});
  expect_refused(own, "the token was revoked", hello_of(0, 1, "next"));
  EXPECT_TRUE((*first)->ready({}).has_value()) << "a rank that has joined stays";
  now_ = kNow + 1;
  EXPECT_TRUE(join(token({.id = 2, .not_after = kNow + 1}), hello_of(0, 1, "a")).has_value());
  expect_refused(token({.id = 2, .not_after = kNow}), "expired", hello_of(0, 1, "b"));
}

// The limit of an address is 2 here.
TEST_F(Tokens, ConnectionsWithATokenCountForNoAddress) {
  std::vector<std::unique_ptr<JobLink>> links;
  for (int job = 0; job < 4; ++job) {
    auto link = join(token({.id = 1}), hello_of(0, 1, std::to_string(job)));
    ASSERT_TRUE(link.has_value()) << job << ": " << link.error().message;
    links.push_back(std::move(*link));
  }
}

}  // namespace
}  // namespace infold::join::testing
