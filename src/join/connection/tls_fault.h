// SPDX-License-Identifier: Apache-2.0
//
// Why TLS on a join connection has failed, and the sentence for each reason. OpenSSL's own texts
// never reach a log or a person, because some of them quote what the other end has sent.
#pragma once

#include <cstdint>

namespace infold::join {

enum class TlsFault : std::uint8_t {
  none,
  not_tls,            // its first bytes are not those of TLS
  no_version,         // it does not speak TLS 1.3
  nothing_shared,     // no cipher, curve or signature in common
  bad_message,        // a message that does not fit here
  bad_record,         // a record that does not decrypt
  long_record,        // a record above the limit
  long_handshake,     // too many bytes before the end of its handshake
  many_messages,      // too many messages of TLS after its handshake, such as KeyUpdates
  wrong_certificate,  // its certificate has another fingerprint
  told_version,       // its alert says that it does not speak TLS 1.3, or not at all
  told_busy,          // its alert says that it cannot serve us
  told_certificate,   // its alert says that it does not accept our certificate
  told,               // any other alert
  out_of_memory,      // this end cannot serve it
};

// Says what the other end did, with "it" as the subject. Static text.
const char* text_of(TlsFault fault);

// Returns the reason for the failure of a call of OpenSSL, from the errors that OpenSSL keeps for
// this thread, and drops these errors.
TlsFault take_tls_fault();

}  // namespace infold::join
