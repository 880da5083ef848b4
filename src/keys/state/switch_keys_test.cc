// SPDX-License-Identifier: Apache-2.0
//
// A switch's keys over its starts: what stays, what is made, and what a change does to tokens.
#include "keys/state/switch_keys.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"

namespace infold::keys {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kToday = 1'800'000'000;

class Keys : public ::testing::Test {
 protected:
  SwitchKeys start() {
    Stated<SwitchKeys> keys = load_or_make_keys(state_, kToday);
    EXPECT_TRUE(keys.has_value()) << keys.error();
    return std::move(*keys);
  }
  std::string make(const Grant& grant) {
    const Stated<NewToken> token = add_token(state_, grant, kToday);
    EXPECT_TRUE(token.has_value()) << token.error();
    return token->text;
  }
  // What a switch says that has just read the directory.
  tl::expected<Grant, TokenFault> check(const std::string& token, std::int64_t now = kToday) {
    return load_book(state_)->keyring().check(token, now);
  }
  void remove(const char* name) { std::filesystem::remove(state_.path() + "/" + name); }

  const base::TempFolder folder_;
  const StateDirectory state_ = *StateDirectory::open(folder_.file("state"));
};

// Ranks that come back after a restart must find the same switch.
TEST_F(Keys, StayTheSameOverRestarts) {
  const SwitchKeys first = start();
  const SwitchKeys second = start();
  EXPECT_EQ(first.identity.fingerprint().text(), second.identity.fingerprint().text());
  EXPECT_EQ(first.open_token, second.open_token);
  EXPECT_EQ(load_fingerprint(state_)->text(), first.identity.fingerprint().text());
  const auto grant = check(first.open_token, kToday + 1'000'000'000);
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->job, "");
  EXPECT_FALSE(grant->speaks_for_ranks);
}

TEST_F(Keys, OfTwoDirectoriesDiffer) {
  const StateDirectory other = *StateDirectory::open(folder_.file("other"));
  const SwitchKeys own = start();
  const SwitchKeys theirs = *load_or_make_keys(other, kToday);
  EXPECT_NE(own.identity.fingerprint().text(), theirs.identity.fingerprint().text());
  EXPECT_EQ(check(theirs.open_token).error(), TokenFault::unknown_secret);
}

TEST_F(Keys, HalfAnIdentityIsNotReplaced) {
  start();
  remove("key.pem");
  EXPECT_THAT(load_or_make_keys(state_, kToday).error(),
              HasSubstr("certificate.pem, but no key.pem: restore it"));
}

TEST_F(Keys, SecretsWithoutAListAreNotReplaced) {
  start();
  remove("tokens");  // revocations would be lost
  EXPECT_THAT(load_or_make_keys(state_, kToday).error(), HasSubstr("secrets, but no tokens"));
}

// A first start that was killed has written one file of two.
TEST_F(Keys, AStartThatWasKilledIsRepeated) {
  ASSERT_TRUE(state_.write("key.pem", "half").has_value());
  ASSERT_TRUE(state_.write("tokens", "half").has_value());
  EXPECT_TRUE(check(start().open_token).has_value());
}

TEST_F(Keys, ABrokenFileIsNamed) {
  start();
  ASSERT_TRUE(state_.write("tokens", "infold tokens 1\nnonsense\n").has_value());
  EXPECT_THAT(load_or_make_keys(state_, kToday).error(), HasSubstr("tokens: line 2 is malformed"));
  ASSERT_TRUE(state_.write("certificate.pem", "nonsense").has_value());
  EXPECT_THAT(load_or_make_keys(state_, kToday).error(), HasSubstr("certificate.pem and key.pem"));
}

TEST_F(Keys, BeforeTheFirstStartThereAreNone) {
  EXPECT_THAT(load_book(state_).error(), HasSubstr("has no secret yet"));
  EXPECT_THAT(load_fingerprint(state_).error(), HasSubstr("has no certificate yet"));
  EXPECT_THAT(add_token(state_, {}, kToday).error(), HasSubstr("has no secret yet"));
}

TEST_F(Keys, ATokenPermitsWhatWasAskedFor) {
  start();
  const Grant wanted = {.job = "my job", .ranks_max = 4, .slots_max = 64, .not_after = kToday + 10};
  const auto grant = check(make(wanted));
  ASSERT_TRUE(grant.has_value());
  Grant expected = wanted;
  expected.id = grant->id;
  EXPECT_EQ(*grant, expected);
  EXPECT_EQ(load_book(state_)->entries.back().grant, expected);
}

TEST_F(Keys, ARevokedTokenDoesNotCount) {
  start();
  const std::string token = make({});
  const std::string other = make({});
  const std::uint64_t id = check(token)->id;
  EXPECT_EQ(revoke_token(state_, id, kToday), true);
  EXPECT_EQ(check(token).error(), TokenFault::revoked);
  EXPECT_TRUE(check(other).has_value());
  EXPECT_EQ(revoke_token(state_, id, kToday), false) << "it is revoked already";
  EXPECT_EQ(revoke_token(state_, 1, kToday), false) << "there is none";
}

TEST_F(Keys, AnOpenTokenThatWasRevokedIsReplacedAtTheNextStart) {
  const std::string token = start().open_token;
  EXPECT_EQ(revoke_token(state_, check(token)->id, kToday), true);
  const std::string next = start().open_token;
  EXPECT_NE(next, token);
  EXPECT_EQ(check(token).error(), TokenFault::revoked);
  EXPECT_TRUE(check(next).has_value());
}

TEST_F(Keys, TheSecretBeforeTheCurrentOneStillCounts) {
  const std::string open = start().open_token;
  const std::string token = make({});
  ASSERT_TRUE(renew_secret(state_, kToday).has_value());
  EXPECT_TRUE(check(token).has_value());
  EXPECT_TRUE(check(open).has_value());
  const std::string next = start().open_token;
  EXPECT_NE(next, open) << "it has a mark by the new secret";
  EXPECT_EQ(check(next)->id, check(open)->id) << "so that one revocation ends both";
  ASSERT_TRUE(renew_secret(state_, kToday).has_value());
  EXPECT_EQ(check(token).error(), TokenFault::unknown_secret);
  EXPECT_EQ(check(open).error(), TokenFault::unknown_secret);
  EXPECT_TRUE(check(next).has_value());
}

// A list without an end would fill up.
TEST_F(Keys, TheListForgetsTokensThatNoSwitchAccepts) {
  start();
  make({.not_after = kToday - 1});
  make({.job = "lives"});
  EXPECT_EQ(load_book(state_)->entries.size(), 2U) << "the open token and one that lives";
  ASSERT_TRUE(renew_secret(state_, kToday).has_value());
  ASSERT_TRUE(renew_secret(state_, kToday).has_value());
  ASSERT_EQ(load_book(state_)->entries.size(), 1U);
  EXPECT_TRUE(load_book(state_)->entries.front().is_open);
}

TEST(TokenBook, ComesBackFromItsTexts) {
  TokenBook book;
  book.number = 7;
  book.current = *draw_secret();
  book.entries = {{.grant = {.id = 1}, .is_open = true, .secret = 7},
                  {.grant = {.id = 2,
                             .job = "a job - with = signs",
                             .ranks_max = 3,
                             .slots_max = 4,
                             .not_after = 5,
                             .speaks_for_ranks = true},
                   .is_revoked = true,
                   .secret = 6}};
  for (int i = 0; i < 2; ++i) {
    const auto read = TokenBook::parse(book.secrets_text(), book.entries_text());
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(read->number, book.number);
    EXPECT_EQ(read->current.bytes, book.current.bytes);
    EXPECT_EQ(read->previous.has_value(), book.previous.has_value());
    EXPECT_EQ(read->entries, book.entries);
    book.previous = *draw_secret();
  }
}

TEST(TokenBook, ListsHoldNoTokenAndNoSecret) {
  TokenBook book;
  book.current = *draw_secret();
  book.entries = {{.grant = {.id = 1}, .is_open = true}};
  const std::string token = *make_token(book.entries.front().grant, book.current);
  EXPECT_EQ(book.entries_text().find(token.substr(token.size() - 40)), std::string::npos);
  EXPECT_EQ(book.entries_text().find(text_of(book.current)), std::string::npos);
}

TEST(TokenBook, OtherTextsAreRefusedByTheirLine) {
  TokenBook book;
  const std::string secrets = book.secrets_text();
  const std::string head = "infold tokens 1\n";
  const std::string good = "0000000000000001 rank valid 1 - - - *";
  ASSERT_TRUE(TokenBook::parse(secrets, head + good + "\n").has_value());
  for (const char* const line :
       {"", "0000000000000001", "1 rank valid 1 - - - *", "0000000000000001 king valid 1 - - - *",
        "0000000000000001 rank dead 1 - - - *", "0000000000000001 rank valid x - - - *",
        "0000000000000001 rank valid 1 -1 - - *", "0000000000000001 rank valid 1 - 4294967296 - *",
        "0000000000000001 rank valid 1 - 01 - *", "0000000000000001 rank valid 1 - - - =",
        "0000000000000001 rank valid 1 - - - job", "0000000000000001  rank valid 1 - - - *"}) {
    const auto read = TokenBook::parse(secrets, head + good + "\n" + line + "\n");
    ASSERT_FALSE(read.has_value()) << line;
    EXPECT_EQ(read.error(), "tokens: line 3 is malformed") << line;
  }
  EXPECT_FALSE(TokenBook::parse("", head).has_value());
  EXPECT_FALSE(TokenBook::parse(secrets + "more", head).has_value());
  EXPECT_FALSE(TokenBook::parse(secrets, "").has_value());
}

}  // namespace
}  // namespace infold::keys
