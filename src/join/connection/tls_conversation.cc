// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_conversation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace infold::join {

TlsConversation::TlsConversation(std::unique_ptr<TlsSession> session,
                                 std::shared_ptr<Conversation> inner, FaultListener on_fault)
    : session_(std::move(session)), inner_(std::move(inner)), on_fault_(std::move(on_fault)) {}

void TlsConversation::begin(Waker waker, base::Instant now) {
  inner_->begin(std::move(waker), now);
  if (session_->has_ended()) hear_end("");
  if (session_->is_open()) return;
  session_->begin();
  note_fault();
}

void TlsConversation::closed() { inner_->closed(); }

// A record's plain bytes are fewer than those that came for it, so the inner conversation never
// hears more than it has room for, except that a record comes as a whole.
std::size_t TlsConversation::room(base::Instant now) { return inner_->room(now); }

void TlsConversation::receive(std::string_view bytes, base::Instant now) {
  std::array<char, TlsSession::kTextBytesMax> room;
  std::uint64_t known = session_->waiting_bytes() + bytes.size();
  while (!bytes.empty()) {
    const std::string_view text = session_->receive(bytes, room);
    if (text.empty()) continue;
    known -= text.size();
    inner_->receive(text, now);
  }
  known -= std::min<std::uint64_t>(known, session_->waiting_bytes());
  if (known > 0) inner_->note_overhead(known, now);
  note_fault();
  if (session_->has_ended()) hear_end("");
}

void TlsConversation::hear_end(const std::string& why) {
  if (!std::exchange(has_heard_end_, true)) inner_->hear_end(why);
}

void TlsConversation::note_fault() {
  if (session_->fault() == TlsFault::none) return;
  if (const FaultListener listener = std::exchange(on_fault_, nullptr)) listener(*session_);
  hear_end(text_of(session_->fault()));
}

std::string_view TlsConversation::output(base::Instant now) {
  if (session_->output().empty() && session_->is_open() && session_->fault() == TlsFault::none) {
    const std::string_view text = inner_->output(now).substr(0, TlsSession::kSendBytesMax);
    if (!text.empty()) {
      in_flight_ = text.size();
      session_->send(text);
      note_fault();
    } else if (inner_->wish() == Wish::finish) {
      session_->end();
    }
  }
  return session_->output();
}

void TlsConversation::sent(std::size_t bytes, base::Instant now) {
  session_->sent(bytes);
  if (in_flight_ == 0 || !session_->output().empty()) return;
  inner_->sent(std::exchange(in_flight_, 0), now);
}

base::Instant TlsConversation::deadline() { return inner_->deadline(); }
void TlsConversation::pass(base::Instant now) { inner_->pass(now); }

// What the inner conversation says last can only be sent once the handshake is over.
Conversation::Wish TlsConversation::wish() {
  if (session_->fault() != TlsFault::none) return Wish::close;
  const Wish wish = inner_->wish();
  return wish == Wish::finish && !session_->is_open() ? Wish::talk : wish;
}

}  // namespace infold::join
