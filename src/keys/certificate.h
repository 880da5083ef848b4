// SPDX-License-Identifier: Apache-2.0
//
// The identity of a switch: a self-signed certificate with a key on the curve P-256, and the
// certificate's fingerprint, by which ranks know the switch. No authority signs it, and its name
// and dates do not count: a rank compares the fingerprint alone.
//
// Identities are immutable, and copies share their memory. Any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/secret.h"

// OpenSSL's types, so that this header needs none of its headers.
struct evp_pkey_st;
struct x509_st;

namespace infold::keys {

// SHA-256 over a certificate in DER.
class Fingerprint {
 public:
  static constexpr std::size_t kBytes = 32;
  // The text is base64url without padding (RFC 4648, section 5): it has letters, digits, `-` and
  // `_`, but neither `.` nor `#`, and it is the same for humans, URLs and shells.
  static constexpr std::size_t kTextBytes = 43;

  explicit Fingerprint(const std::array<std::uint8_t, kBytes>& bytes) : bytes_(bytes) {}
  // Accepts only what text() returns.
  static base::Result<Fingerprint> parse(std::string_view text);

  std::string text() const;
  const std::array<std::uint8_t, kBytes>& bytes() const { return bytes_; }
  // Takes the same time whatever the bytes are.
  bool operator==(const Fingerprint& other) const;

 private:
  std::array<std::uint8_t, kBytes> bytes_;
};

// Returns the fingerprint of a certificate. Fails if OpenSSL cannot encode it.
base::Result<Fingerprint> fingerprint_of(const x509_st& certificate);

class Identity {
 public:
  // Makes a new key and its certificate.
  static base::Result<Identity> make();
  // Makes the certificate that this secret stands for: whoever has the secret makes the same one,
  // and so knows its fingerprint. Its key is one of Ed25519, whose signatures depend on nothing
  // else.
  static base::Result<Identity> of_secret(const Secret& secret);
  // Reads one certificate and its key. Refuses a key of another curve, or of another certificate.
  // A key that is encrypted is refused, and nobody is asked for its password.
  static base::Result<Identity> from_pem(std::string_view certificate, std::string_view key);

  base::Result<std::string> certificate_pem() const;
  base::Result<std::string> key_pem() const;
  const Fingerprint& fingerprint() const { return fingerprint_; }

  x509_st& certificate() const { return *certificate_; }
  evp_pkey_st& key() const { return *key_; }

 private:
  Identity(std::shared_ptr<x509_st> certificate, std::shared_ptr<evp_pkey_st> key,
           const Fingerprint& fingerprint);

  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<evp_pkey_st> key_;
  Fingerprint fingerprint_;
};

}  // namespace infold::keys
