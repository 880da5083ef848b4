// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_fault.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace infold::join {
namespace {

// OpenSSL reports an alert of the other end as this number plus the alert's.
constexpr int kAlerts = SSL_AD_REASON_OFFSET;

TlsFault fault_of_alert(int alert) {
  switch (alert) {
    case SSL_AD_PROTOCOL_VERSION: return TlsFault::told_version;
    case SSL_AD_HANDSHAKE_FAILURE: return TlsFault::nothing_shared;
    case SSL_AD_INTERNAL_ERROR: return TlsFault::told_busy;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_UNKNOWN_CA: return TlsFault::told_certificate;
    default: return TlsFault::told;
  }
}

TlsFault fault_of_reason(int reason) {
  if (reason > kAlerts && reason <= kAlerts + UINT8_MAX) return fault_of_alert(reason - kAlerts);
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_BAD_PROTOCOL_VERSION_NUMBER: return TlsFault::no_version;
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER: return TlsFault::not_tls;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_GROUPS:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS: return TlsFault::nothing_shared;
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC: return TlsFault::bad_record;
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return TlsFault::wrong_certificate;
    case ERR_R_MALLOC_FAILURE: return TlsFault::out_of_memory;
    default: return TlsFault::bad_message;
  }
}

}  // namespace

const char* text_of(TlsFault fault) {
  switch (fault) {
    case TlsFault::none: return "";
    case TlsFault::not_tls: return "it sent bytes that are not TLS";
    case TlsFault::no_version: return "it does not offer TLS 1.3";
    case TlsFault::nothing_shared:
      return "the two ends share no cipher, curve or signature of TLS 1.3";
    case TlsFault::bad_message: return "it sent a message of TLS that does not belong there";
    case TlsFault::bad_record: return "it sent a record of TLS that does not decrypt";
    case TlsFault::long_record: return "it announced a record of TLS above the limit";
    case TlsFault::long_handshake: return "its TLS handshake is longer than the limit";
    case TlsFault::many_messages:
      return "it sent more KeyUpdates or other messages of TLS than are allowed";
    case TlsFault::wrong_certificate: return "its certificate has another fingerprint";
    case TlsFault::told_version: return "it does not speak TLS 1.3 on this port";
    case TlsFault::told_busy: return "it cannot serve another TLS handshake now";
    case TlsFault::told_certificate: return "it does not accept this end's certificate";
    case TlsFault::told: return "it ended TLS with an alert";
    case TlsFault::out_of_memory: return "this end has no memory for its TLS";
  }
  return "";
}

// The oldest error is the cause, and the later ones are its consequences.
TlsFault take_tls_fault() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return TlsFault::out_of_memory;
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return TlsFault::bad_message;
  return fault_of_reason(ERR_GET_REASON(error));
}

}  // namespace infold::join
