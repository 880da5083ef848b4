// SPDX-License-Identifier: Apache-2.0
//
// Tokens and keyrings: what is accepted, and that each changed bit is noticed.
#include "keys/token/token.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/base64.h"
#include "keys/token/join_string.h"
#include "keys/token/keyring.h"

namespace infold::keys {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;

Secret secret_with(unsigned char byte) {
  Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

Grant narrow() {
  return {.id = 0xC0FFEE,
          .job = "train-7",
          .ranks_max = 16,
          .slots_max = 512,
          .not_after = kNow + 60,
          .speaks_for_ranks = true};
}

std::string token_of(const Grant& grant, const Secret& secret = secret_with(1)) {
  return *make_token(grant, secret);
}

Keyring ring() { return {secret_with(1), secret_with(2), {}}; }

TEST(Token, ComesBackAsItWent) {
  for (const Grant& grant : {Grant{}, narrow(), Grant{.job = std::string(kJobBytesMax, 'j')}}) {
    const std::string text = token_of(grant);
    EXPECT_LE(text.size(), kTokenTextMax);
    const auto token = UnprovenToken::parse(text);
    ASSERT_TRUE(token.has_value());
    EXPECT_EQ(token->grant(), grant);
    EXPECT_TRUE(token->is_marked_by(secret_with(1)));
    EXPECT_FALSE(token->is_marked_by(secret_with(2)));
  }
}

TEST(Token, HasTextsThatNeedNoQuotes) {
  EXPECT_EQ(
      token_of(narrow()).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                                           "yz0123456789-_"),
      std::string::npos);
}

// A holder who could change one bit could lift a limit.
TEST(Token, EveryChangedBitIsNoticed) {
  const std::string bytes = *from_base64(token_of(narrow()));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(ring().check(base64_of(changed), kNow).has_value()) << "bit " << bit;
  }
}

TEST(Token, NoPartOfOneIsRead) {
  const std::string text = token_of(narrow());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ring().check(text.substr(0, length), kNow).has_value()) << length;
  }
  EXPECT_FALSE(UnprovenToken::parse(text + "A").has_value());
  EXPECT_FALSE(UnprovenToken::parse(std::string(kTokenTextMax + 1, 'A')).has_value());
}

TEST(Token, NamesThatNoJobCanHaveAreRefused) {
  EXPECT_FALSE(make_token({.job = std::string(kJobBytesMax + 1, 'j')}, secret_with(1)));
  EXPECT_FALSE(make_token({.job = "two\nlines"}, secret_with(1)));
  EXPECT_FALSE(make_token({.not_after = -1}, secret_with(1)));
}

TEST(Token, IdsHaveOneText) {
  EXPECT_EQ(id_of(id_text(0xC0FFEE)), 0xC0FFEEU);
  for (const char* const text : {"", "c0ffee", "0000000000C0FFEE", "00000000000c0ffee", "-1"}) {
    EXPECT_FALSE(id_of(text).has_value()) << text;
  }
}

TEST(Keyring, AcceptsTokensByItsTwoSecrets) {
  EXPECT_EQ(ring().check(token_of(narrow(), secret_with(1)), kNow), narrow());
  EXPECT_EQ(ring().check(token_of(narrow(), secret_with(2)), kNow), narrow());
  EXPECT_EQ(ring().check(token_of(narrow(), secret_with(3)), kNow).error(),
            TokenFault::unknown_secret);
  Keyring first = ring();
  first.previous.reset();
  EXPECT_EQ(first.check(token_of(narrow(), secret_with(2)), kNow).error(),
            TokenFault::unknown_secret);
}

TEST(Keyring, SaysWhyATokenDoesNotCount) {
  Keyring keyring = ring();
  EXPECT_EQ(keyring.check("", kNow).error(), TokenFault::missing);
  EXPECT_EQ(keyring.check("a token", kNow).error(), TokenFault::malformed);
  EXPECT_TRUE(keyring.check(token_of(narrow()), kNow + 60).has_value());
  EXPECT_EQ(keyring.check(token_of(narrow()), kNow + 61).error(), TokenFault::expired);
  keyring.revoked = {0xC0FFEE};
  EXPECT_EQ(keyring.check(token_of(narrow()), kNow).error(), TokenFault::revoked);
}

// Otherwise a stranger could learn which ids exist.
TEST(Keyring, SaysNothingAboutTokensWithoutItsMark) {
  Keyring keyring = ring();
  keyring.revoked = {0xC0FFEE};
  EXPECT_EQ(keyring.check(token_of(narrow(), secret_with(3)), kNow + 61).error(),
            TokenFault::unknown_secret);
}

TEST(LiveKeyring, IsReplacedWhileOthersRead) {
  LiveKeyring live(ring());
  const auto before = live.now();
  Keyring next = ring();
  next.revoked = {0xC0FFEE};
  live.replace(next);
  EXPECT_TRUE(before->check(token_of(narrow()), kNow).has_value());
  EXPECT_FALSE(live.now()->check(token_of(narrow()), kNow).has_value());
}

TEST(JoinString, ComesBackAsItWent) {
  const std::string fingerprint = base64_of(std::string(32, '\x5a'));
  const std::string token = token_of(narrow());
  for (const char* const place : {"10.0.0.1:7700", "[2001:db8::1]:7700", "host.example:7700"}) {
    const std::string text = std::string(place) + "#" + fingerprint + "." + token;
    const auto join = parse_join_string(text);
    ASSERT_TRUE(join.has_value()) << join.error();
    EXPECT_EQ(join->place, place);
    EXPECT_EQ(join->fingerprint->text(), fingerprint);
    EXPECT_EQ(join->token, token);
    EXPECT_EQ(text_of(*join), text);
    EXPECT_EQ(place_of(text), place);
  }
}

TEST(JoinString, AnAddressAloneHasNoKeys) {
  const auto join = parse_join_string("10.0.0.1:7700");
  ASSERT_TRUE(join.has_value());
  EXPECT_FALSE(join->has_keys());
  EXPECT_EQ(text_of(*join), "10.0.0.1:7700");

  const std::string longest = std::string(63, 'a') + "." + std::string(63, 'b') + ":7700";
  EXPECT_EQ(parse_join_string(longest)->place, longest);
}

TEST(JoinString, AnIncompleteOneIsNamedWithoutShowingItsKeys) {
  const std::string fingerprint = base64_of(std::string(32, '\x5a'));
  const std::string token = token_of(narrow());
  const std::string texts[] = {
      "a:1#",
      "a:1#" + fingerprint,
      "a:1#" + fingerprint + ".",
      "a:1#." + token,
      "a:1#" + fingerprint.substr(1) + "." + token,
      "a:1#" + fingerprint + "." + token.substr(0, token.size() - 1),
      "a:1" + fingerprint + "." + token,
      "a:1" + token,
      token,
      token + "#" + fingerprint,
  };
  for (const std::string& text : texts) {
    const auto join = parse_join_string(text);
    ASSERT_FALSE(join.has_value()) << text;
    EXPECT_THAT(join.error(), ::testing::StartsWith("has "));
    EXPECT_THAT(std::string(place_of(text)),
                ::testing::Not(::testing::HasSubstr(token.substr(8, 8))));
  }
}

}  // namespace
}  // namespace infold::keys
