// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_context.h"

#include <utility>

#include <openssl/ssl.h>

#include "join/connection/tls_session.h"
#include "keys/openssl.h"

namespace infold::join {
namespace {

constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";
// A rank sends a share of the first curve, which OpenSSL computes fastest. A stranger's client may
// send one of the second, as OpenSSL's own programs do.
constexpr const char* kCurves = "P-256:X25519";
// A switch's certificate has a key of P-256, and that of a rendezvous one of Ed25519.
constexpr const char* kSignatures = "ECDSA+SHA256:ed25519";

tl::unexpected<base::Error> unusable() {
  keys::forget_openssl_errors();
  return base::fail(base::Code::resource_exhausted, "TLS", "OpenSSL cannot be used");
}

bool configure(SSL_CTX* context) {
  // Buffers of OpenSSL, 16 KiB each, are given back as soon as they are empty.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 0);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
         SSL_CTX_set_recv_max_early_data(context, 0) == 1 &&
         SSL_CTX_set_ciphersuites(context, kCiphers) == 1 &&
         SSL_CTX_set1_groups_list(context, kCurves) == 1 &&
         SSL_CTX_set1_sigalgs_list(context, kSignatures) == 1;
}

}  // namespace

base::Result<std::shared_ptr<const TlsContext>> TlsContext::make(bool is_of_switch) {
  if (!keys::start_openssl()) return unusable();
  std::shared_ptr<SSL_CTX> context(
      SSL_CTX_new(is_of_switch ? TLS_server_method() : TLS_client_method()), &SSL_CTX_free);
  if (!context || !configure(context.get())) return unusable();
  if (!is_of_switch) TlsSession::accept_by_fingerprint(*context);
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(context), is_of_switch));
}

base::Result<std::shared_ptr<const TlsContext>> TlsContext::of_switch(
    const keys::Identity& identity) {
  auto made = make(true);
  if (!made) return made;
  SSL_CTX* const context = &(*made)->get();
  if (SSL_CTX_use_certificate(context, &identity.certificate()) != 1 ||
      SSL_CTX_use_PrivateKey(context, &identity.key()) != 1) {
    return unusable();
  }
  return made;
}

// It is never freed, because other threads may still join when the process ends.
base::Result<std::shared_ptr<const TlsContext>> TlsContext::of_ranks() {
  static const auto& kShared = *new base::Result<std::shared_ptr<const TlsContext>>(make(false));
  return kShared;
}

}  // namespace infold::join
