// SPDX-License-Identifier: Apache-2.0
#include "keys/certificate.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace infold::keys::testing {
namespace {

using ::testing::HasSubstr;

Fingerprint counting() {
  std::array<std::uint8_t, Fingerprint::kBytes> bytes = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 8 + 7);
  return Fingerprint(bytes);
}

// The PEM text of a private key, encrypted if there is a password.
std::string key_of(const char* type, const char* group, const char* password = nullptr) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      group != nullptr ? EVP_PKEY_Q_keygen(nullptr, nullptr, type, group)
                       : EVP_PKEY_Q_keygen(nullptr, nullptr, type),
      &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  const auto* const word = reinterpret_cast<const unsigned char*>(password);
  EXPECT_EQ(PEM_write_bio_PrivateKey(bio.get(), key.get(),
                                     password != nullptr ? EVP_aes_128_cbc() : nullptr, word,
                                     password != nullptr ? 4 : 0, nullptr, nullptr),
            1);
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(bytes)};
}

TEST(Fingerprint, HasATextOf43Characters) {
  const std::string text = counting().text();
  EXPECT_EQ(text, "Bw8XHycvNz9HT1dfZ293f4ePl5-nr7e_x8_X3-fv9_8");
  EXPECT_EQ(text.find_first_of(".#"), std::string::npos);
  EXPECT_EQ(*Fingerprint::parse(text), counting());
}

TEST(Fingerprint, ReadsNoOtherTexts) {
  const std::string text = counting().text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto read = Fingerprint::parse(changed);
    EXPECT_FALSE(read && *read == counting()) << i;
    for (const char bad : {'.', '#', '=', '+', '/', ' ', '\0', '\xff'}) {
      changed[i] = bad;
      EXPECT_FALSE(Fingerprint::parse(changed).has_value()) << i;
    }
  }
  EXPECT_FALSE(Fingerprint::parse("").has_value());
  EXPECT_FALSE(Fingerprint::parse(text + "A").has_value());
  EXPECT_FALSE(Fingerprint::parse(text.substr(0, 42)).has_value());
  // The last character has two bits that belong to no byte.
  EXPECT_FALSE(Fingerprint::parse(text.substr(0, 42) + "9").has_value());
}

TEST(Identity, ComesBackFromItsTexts) {
  const auto made = Identity::make();
  ASSERT_TRUE(made.has_value()) << made.error().detail;
  const std::string certificate = *made->certificate_pem(), key = *made->key_pem();
  EXPECT_THAT(certificate, HasSubstr("-----BEGIN CERTIFICATE-----"));
  EXPECT_THAT(key, HasSubstr("-----BEGIN PRIVATE KEY-----"));
  const auto read = Identity::from_pem(certificate, key);
  ASSERT_TRUE(read.has_value()) << read.error().detail;
  EXPECT_EQ(read->fingerprint(), made->fingerprint());
  EXPECT_EQ(read->fingerprint(), *fingerprint_of(read->certificate()));
  EXPECT_EQ(*read->key_pem(), key);
}

TEST(Identity, EachIsNew) {
  EXPECT_FALSE(Identity::make()->fingerprint() == Identity::make()->fingerprint());
}

TEST(Identity, RefusesTextsThatDoNotFit) {
  const auto own = *Identity::make(), other = *Identity::make();
  const std::string certificate = *own.certificate_pem(), key = *own.key_pem();
  const struct {
    std::string certificate, key, why;
  } cases[] = {
      {certificate, *other.key_pem(), "the key is not the one of the certificate"},
      {certificate, "", "not a private key"},
      {"", key, "not a certificate"},
      {key, key, "not a certificate"},
      {certificate.substr(0, certificate.size() / 2), key, "not a certificate"},
      {certificate, key_of("EC", "P-384"), "not one on the curve P-256"},
      {certificate, key_of("ED25519", nullptr), "not one on the curve P-256"},
      {certificate, key_of("EC", "P-256", "word"), "without a password"},
      {std::string(1 << 20, 'x'), key, "too long"},
  };
  for (const auto& each : cases) {
    const auto read = Identity::from_pem(each.certificate, each.key);
    ASSERT_FALSE(read.has_value()) << each.why;
    EXPECT_THAT(read.error().detail, HasSubstr(each.why));
    EXPECT_EQ(ERR_peek_error(), 0U) << each.why;
  }
}

}  // namespace
}  // namespace infold::keys::testing
