// SPDX-License-Identifier: Apache-2.0
#include "keys/certificate.h"

#include <memory>
#include <utility>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include "keys/openssl.h"

namespace infold::keys {
namespace {

constexpr const char* kWhere = "certificate";
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// A certificate and a key have less than 1 KiB of PEM. A longer text is something else.
constexpr std::size_t kPemBytesMax = 16 << 10;
// The number of a certificate, which is positive and has at most 20 bytes (RFC 5280, 4.1.2.2).
constexpr int kSerialBits = 127;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using SharedCertificate = std::shared_ptr<X509>;
using SharedKey = std::shared_ptr<EVP_PKEY>;

tl::unexpected<base::Error> failed(const char* detail,
                                   base::Code code = base::Code::invalid_argument) {
  forget_openssl_errors();
  return base::fail(code, kWhere, detail);
}

Bio reader_of(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// Without this function, OpenSSL would ask at the terminal.
int no_password(char*, int, int, void*) { return 0; }

base::Result<std::string> text_in(BIO* bio, bool is_written) {
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio, &text);
  if (!is_written || bytes <= 0) return failed("OpenSSL cannot write the PEM text");
  return std::string(text, static_cast<std::size_t>(bytes));
}

bool is_on_p256(EVP_PKEY* key) {
  char group[32] = {};
  std::size_t bytes = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group, sizeof(group), &bytes) == 1 &&
         std::string_view(group, bytes) == SN_X9_62_prime256v1;
}

bool set_random_serial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), &BN_free);
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// The dates are those of RFC 5280, 4.1.2.5, for a certificate that does not end. A clock that is
// wrong therefore does no harm.
bool fill(X509* certificate, EVP_PKEY* key, const char* owner, const EVP_MD* hash) {
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const text = reinterpret_cast<const unsigned char*>(owner);
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 &&
         ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z") == 1 &&
         ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "99991231235959Z") == 1 &&
         X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, hash) > 0;
}

}  // namespace

base::Result<Fingerprint> Fingerprint::parse(std::string_view text) {
  const auto refused = base::fail(base::Code::invalid_argument, "fingerprint",
                                  "a fingerprint has 43 letters, digits, - or _");
  if (text.size() != kTextBytes) return refused;
  std::array<std::uint8_t, kBytes> bytes = {};
  std::uint32_t bits = 0;
  int count = 0;
  std::size_t filled = 0;
  for (const char each : text) {
    const std::size_t digit = kDigits.find(each);
    if (digit == std::string_view::npos) return refused;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[filled++] = static_cast<std::uint8_t>(bits >> count);
    bits &= (1U << count) - 1;
  }
  if (bits != 0) return refused;  // another text of the same bytes
  return Fingerprint(bytes);
}

std::string Fingerprint::text() const {
  std::string text;
  text.reserve(kTextBytes);
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes_) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text.push_back(kDigits[bits >> (count - 6) & 63]);
  }
  text.push_back(kDigits[bits << (6 - count) & 63]);
  return text;
}

bool Fingerprint::operator==(const Fingerprint& other) const {
  return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), kBytes) == 0;
}

base::Result<Fingerprint> fingerprint_of(const x509_st& certificate) {
  std::array<std::uint8_t, Fingerprint::kBytes> bytes = {};
  unsigned count = 0;
  if (X509_digest(&certificate, EVP_sha256(), bytes.data(), &count) != 1 || count != bytes.size()) {
    return failed("OpenSSL cannot compute the fingerprint");
  }
  return Fingerprint(bytes);
}

Identity::Identity(std::shared_ptr<x509_st> certificate, std::shared_ptr<evp_pkey_st> key,
                   const Fingerprint& fingerprint)
    : certificate_(std::move(certificate)), key_(std::move(key)), fingerprint_(fingerprint) {}

base::Result<Identity> Identity::make() {
  constexpr auto kCode = base::Code::resource_exhausted;
  if (!start_openssl()) return failed("OpenSSL cannot be used", kCode);
  SharedKey key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  if (!key) return failed("OpenSSL cannot make a key", kCode);
  SharedCertificate certificate(X509_new(), &X509_free);
  if (!certificate || !set_random_serial(certificate.get()) ||
      !fill(certificate.get(), key.get(), "infold switch", EVP_sha256())) {
    return failed("OpenSSL cannot make a certificate", kCode);
  }
  const base::Result<Fingerprint> fingerprint = fingerprint_of(*certificate);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  return Identity(std::move(certificate), std::move(key), *fingerprint);
}

base::Result<Identity> Identity::of_secret(const Secret& secret) {
  constexpr auto kCode = base::Code::resource_exhausted;
  if (!start_openssl()) return failed("OpenSSL cannot be used", kCode);
  SharedKey key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.bytes.data(),
                                             secret.bytes.size()),
                &EVP_PKEY_free);
  if (!key) return failed("OpenSSL cannot make a key", kCode);
  SharedCertificate certificate(X509_new(), &X509_free);
  // Ed25519 hashes by itself.
  if (!certificate || ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1) != 1 ||
      !fill(certificate.get(), key.get(), "infold rendezvous", nullptr)) {
    return failed("OpenSSL cannot make a certificate", kCode);
  }
  const base::Result<Fingerprint> fingerprint = fingerprint_of(*certificate);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  return Identity(std::move(certificate), std::move(key), *fingerprint);
}

base::Result<Identity> Identity::from_pem(std::string_view certificate, std::string_view key) {
  if (!start_openssl()) return failed("OpenSSL cannot be used", base::Code::resource_exhausted);
  if (certificate.size() > kPemBytesMax || key.size() > kPemBytesMax) {
    return failed("the text is too long for a certificate or a key");
  }
  const Bio of_certificate = reader_of(certificate), of_key = reader_of(key);
  SharedCertificate read(PEM_read_bio_X509(of_certificate.get(), nullptr, &no_password, nullptr),
                         &X509_free);
  if (!read) return failed("the text is not a certificate in PEM");
  SharedKey own(PEM_read_bio_PrivateKey(of_key.get(), nullptr, &no_password, nullptr),
                &EVP_PKEY_free);
  if (!own) return failed("the text is not a private key in PEM without a password");
  if (!is_on_p256(own.get())) return failed("the key is not one on the curve P-256");
  if (X509_check_private_key(read.get(), own.get()) != 1) {
    return failed("the key is not the one of the certificate");
  }
  const base::Result<Fingerprint> fingerprint = fingerprint_of(*read);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  forget_openssl_errors();
  return Identity(std::move(read), std::move(own), *fingerprint);
}

base::Result<std::string> Identity::certificate_pem() const {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  return text_in(bio.get(), bio && PEM_write_bio_X509(bio.get(), certificate_.get()) == 1);
}

base::Result<std::string> Identity::key_pem() const {
  const Bio bio(BIO_new(BIO_s_secmem()), &BIO_free);
  return text_in(bio.get(),
                 bio && PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0,
                                                      nullptr, nullptr) == 1);
}

}  // namespace infold::keys
