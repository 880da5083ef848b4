// SPDX-License-Identifier: Apache-2.0
//
// Reads the first bytes of a connection, up to the Hello of a rank, and answers anything else with
// a refusal that the other end can read: in frames, in TLS or in HTTP/2. A server with a
// certificate hears TLS alone, and one without a certificate no TLS.
//
// Pure; one thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "join/connection/frames.h"
#include "join/connection/tls_session.h"
#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

class FirstContact {
 public:
  // `tls` outlives this; null: the server has no certificate.
  explicit FirstContact(const TlsContext* tls = nullptr);

  enum class Step : std::uint8_t {
    listens,
    asks,  // for shake_hands() or turn_away(); takes no bytes until then
    has_hello,
    is_refused,
  };
  Step receive(std::string_view bytes);
  // A handshake takes memory and time, so the server decides when it begins.
  Step shake_hands();
  Step turn_away(const Refusal& why);
  // Refuses it, whatever it has said so far.
  Step refuse(const Refusal& why);

  // Returns what to send now, once.
  std::string take_output();
  v1::JoinRequest& hello() { return hello_; }  // valid once it has come
  // Returns what came after the Hello, decrypted.
  std::string take_rest();
  // Returns the session that the rest of the connection belongs to. It is null without TLS.
  std::unique_ptr<TlsSession> take_session() { return std::move(session_); }
  // Says to a person why the connection is refused.
  const std::string& reason() const { return reason_; }

 private:
  Step receive_first(std::string_view bytes);
  Step receive_frames(std::string_view bytes);
  Step receive_http2(std::string_view bytes);
  Step receive_tls(std::string_view bytes);
  Step fail(TlsFault fault);
  void say(const std::string& bytes);

  const TlsContext* const tls_;
  FrameReader reader_;
  v1::JoinRequest hello_;
  std::string early_;  // what came before shake_hands()
  std::string rest_;
  std::string output_;
  std::string reason_;
  int keepalives_ = 0;
  std::size_t tls_bytes_ = 0;
  bool is_first_ = true;
  bool has_hello_ = false;
  std::optional<std::string> http2_;  // the bytes so far, if they come from an HTTP/2 client
  std::unique_ptr<TlsSession> session_;
};

// Says why a message of this length is refused.
Refusal no_message(std::uint32_t length);

}  // namespace infold::join
