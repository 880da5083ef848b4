// SPDX-License-Identifier: Apache-2.0
#include "keys/secret.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include "keys/base64.h"
#include "keys/openssl.h"

namespace infold::keys {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::optional<Secret> draw_secret() {
  if (!start_openssl()) return std::nullopt;
  Secret secret;
  const int drawn = RAND_priv_bytes(secret.bytes.data(), static_cast<int>(secret.bytes.size()));
  return drawn == 1 ? std::optional(secret) : std::nullopt;
}

std::optional<Secret> derive(std::string_view from, std::string_view info) {
  if (!start_openssl()) return std::nullopt;
  const std::unique_ptr<EVP_PKEY_CTX, void (*)(EVP_PKEY_CTX*)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
  Secret secret;
  std::size_t length = secret.bytes.size();
  const bool is_derived = context != nullptr && EVP_PKEY_derive_init(context.get()) > 0 &&
                          EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) > 0 &&
                          EVP_PKEY_CTX_set1_hkdf_key(context.get(), bytes_of(from),
                                                     static_cast<int>(from.size())) > 0 &&
                          EVP_PKEY_CTX_add1_hkdf_info(context.get(), bytes_of(info),
                                                      static_cast<int>(info.size())) > 0 &&
                          EVP_PKEY_derive(context.get(), secret.bytes.data(), &length) > 0;
  return is_derived ? std::optional(secret) : std::nullopt;
}

std::optional<std::string> mark_of(const Secret& secret, std::string_view message) {
  if (!start_openssl()) return std::nullopt;
  std::string mark(kMarkBytes, '\0');
  unsigned int length = 0;
  const bool is_made =
      HMAC(EVP_sha256(), secret.bytes.data(), static_cast<int>(secret.bytes.size()),
           bytes_of(message), message.size(), reinterpret_cast<unsigned char*>(mark.data()),
           &length) != nullptr;
  return is_made && length == mark.size() ? std::optional(std::move(mark)) : std::nullopt;
}

bool are_equal(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string text_of(const Secret& secret) {
  return base64_of({reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()});
}

std::optional<Secret> secret_of(std::string_view text) {
  const std::optional<std::string> bytes = from_base64(text);
  Secret secret;
  if (!bytes || bytes->size() != secret.bytes.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), secret.bytes.begin());
  return secret;
}

}  // namespace infold::keys
