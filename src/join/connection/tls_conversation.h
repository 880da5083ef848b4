// SPDX-License-Identifier: Apache-2.0
//
// A conversation that speaks TLS on behalf of another one: what comes is decrypted for the inner
// conversation, and what that one says is encrypted. Neither it nor the loop knows of TLS. The
// loop's thread calls it.
//
// A close_notify is the end of the other end's direction. So is the end of the connection, even
// without one, because Leave and Ended say in words that an end was meant.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "join/connection/conversation.h"
#include "join/connection/tls_session.h"

namespace infold::join {

class TlsConversation final : public Conversation {
 public:
  // Hears of the session's fault, before the inner conversation hears that the connection broke.
  using FaultListener = std::function<void(const TlsSession&)>;

  TlsConversation(std::unique_ptr<TlsSession> session, std::shared_ptr<Conversation> inner,
                  FaultListener on_fault);

  void begin(Waker waker, base::Instant now) override;
  void closed() override;
  std::size_t room(base::Instant now) override;
  void receive(std::string_view bytes, base::Instant now) override;
  void hear_end(const std::string& why) override;
  std::string_view output(base::Instant now) override;
  void sent(std::size_t bytes, base::Instant now) override;
  base::Instant deadline() override;
  void pass(base::Instant now) override;
  Wish wish() override;

 private:
  void note_fault();

  const std::unique_ptr<TlsSession> session_;
  const std::shared_ptr<Conversation> inner_;
  FaultListener on_fault_;      // until it has been called
  std::size_t in_flight_ = 0;   // the inner conversation's bytes in the session's output
  bool has_heard_end_ = false;  // the inner one
};

}  // namespace infold::join
