// SPDX-License-Identifier: Apache-2.0
//
// The TLS of a rank's connection, and what the rank's user hears if it fails.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "join/connection/conversation.h"
#include "join/connection/tls_session.h"
#include "join/registrar.h"
#include "keys/certificate.h"

namespace infold::join {

// Returns a conversation that speaks TLS for `inner`. It calls `refuse`, from the loop's thread, if
// joining again cannot help: the host has another certificate, or does not use keys. `host` names
// the host in errors.
std::shared_ptr<Conversation> secured(std::shared_ptr<Conversation> inner,
                                      const keys::Fingerprint& fingerprint, const std::string& host,
                                      std::function<void(const Refusal&)> refuse);

// Returns the refusal for a session's fault, or nothing if the fault counts as a broken connection.
std::optional<Refusal> refusal_of(const TlsSession& session, const std::string& host);

}  // namespace infold::join
