// SPDX-License-Identifier: Apache-2.0
#include "keys/openssl.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace infold::keys {

bool start_openssl() {
  static const bool has_started =
      OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG |
                           OPENSSL_INIT_NO_LOAD_SSL_STRINGS | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
                       nullptr) == 1;
  return has_started;
}

void forget_openssl_errors() { ERR_clear_error(); }

std::string openssl_version() { return OpenSSL_version(OPENSSL_VERSION_STRING); }

}  // namespace infold::keys
