// SPDX-License-Identifier: Apache-2.0
//
// What is computed with secrets, against the examples of the standards.
#include "keys/secret.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "keys/base64.h"

namespace infold::keys {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    constexpr std::string_view kHexDigits = "0123456789abcdef";
    hex += kHexDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kHexDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string_view view_of(const Secret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()};
}

// Test case 3 of RFC 4231, with a key that is padded with zeros, which HMAC does itself.
TEST(Secret, MarksAreThoseOfTheStandard) {
  Secret secret;
  std::fill_n(secret.bytes.begin(), 20, static_cast<unsigned char>(0xaa));
  EXPECT_EQ(hex_of(*mark_of(secret, std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

// Python computed it: HKDF-Extract with a salt of zeros, then one step of HKDF-Expand.
TEST(Secret, DerivedSecretsAreThoseOfTheStandard) {
  const std::string from(22, '\x0b');
  EXPECT_EQ(hex_of(view_of(*derive(from, ""))),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
  EXPECT_NE(derive(from, "one")->bytes, derive(from, "other")->bytes);
}

TEST(Secret, EachDrawDiffers) { EXPECT_NE(draw_secret()->bytes, draw_secret()->bytes); }

TEST(Secret, ComesBackFromItsText) {
  const Secret secret = *draw_secret();
  EXPECT_EQ(secret_of(text_of(secret))->bytes, secret.bytes);
  EXPECT_FALSE(secret_of(text_of(secret).substr(1)).has_value());
  EXPECT_FALSE(secret_of("").has_value());
}

TEST(Secret, TextsAreComparedAsAWhole) {
  EXPECT_TRUE(are_equal("abc", "abc"));
  EXPECT_FALSE(are_equal("abc", "abd"));
  EXPECT_FALSE(are_equal("abc", "abcd"));
  EXPECT_TRUE(are_equal("", ""));
}

TEST(Base64, HasTheExamplesOfTheStandardWithoutPadding) {
  const std::pair<const char*, const char*> examples[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "-_8"},
  };
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(base64_of(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, NothingElseIsRead) {
  for (const char* const text : {"Z", "Zh", "Zm9", "Zm9v=", "Zm9vYg==", "Zm 9", "Zm9+", "Zm9/"}) {
    EXPECT_FALSE(from_base64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace infold::keys
