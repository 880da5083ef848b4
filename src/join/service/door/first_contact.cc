// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/first_contact.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "join/connection/http2_refusal.h"
#include "join/refusals.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join {
namespace {

// A client of HTTP/2 says less than this before its call, unless it wants something else.
constexpr std::size_t kHttp2BytesMax = 4096;
constexpr char kHttp2First = 'P';  // of kHttp2Length
// A rank sends one keepalive at most before its Hello. Without a limit, a connection could send
// them as fast as its link allows.
constexpr int kKeepalivesMax = 16;
// With TLS, a rank sends less than 8 KiB up to the end of its Hello, however it cuts its records.
constexpr std::size_t kTlsBytesMax = 64 << 10;
// Alerts of TLS (RFC 8446, section 6).
constexpr int kAlertVersion = 70;
constexpr int kAlertInternal = 80;

using namespace sentences;

}  // namespace

FirstContact::FirstContact(const TlsContext* tls) : tls_(tls), reader_(kRequestBytesMax) {}

FirstContact::Step FirstContact::receive(std::string_view bytes) {
  if (bytes.empty()) return Step::listens;
  if (std::exchange(is_first_, false)) return receive_first(bytes);
  if (session_) return receive_tls(bytes);
  return http2_ ? receive_http2(bytes) : receive_frames(bytes);
}

// No frame begins like a record of TLS, because its length would be above the limit.
FirstContact::Step FirstContact::receive_first(std::string_view bytes) {
  const char first = bytes.front();
  if (first == TlsRecords::kHandshake) {
    if (tls_ != nullptr) {
      early_ = bytes;
      return Step::asks;
    }
    output_ = tls_alert(kAlertVersion);
    reason_ = refusal(kUsesNoKeys).message;
    return Step::is_refused;
  }
  if (tls_ != nullptr && first != kHttp2First) return refuse(refusal(kUsesKeys));
  return receive_frames(bytes);
}

FirstContact::Step FirstContact::shake_hands() {
  session_ = TlsSession::of_switch(*tls_);
  const std::string bytes = std::exchange(early_, {});
  return session_ ? receive_tls(bytes) : fail(TlsFault::out_of_memory);
}

FirstContact::Step FirstContact::turn_away(const Refusal& why) {
  output_ = tls_alert(kAlertInternal);
  reason_ = why.message;
  return Step::is_refused;
}

FirstContact::Step FirstContact::receive_tls(std::string_view bytes) {
  tls_bytes_ += bytes.size();
  if (tls_bytes_ > kTlsBytesMax) return fail(TlsFault::long_handshake);
  std::array<char, TlsSession::kTextBytesMax> room;
  Step step = has_hello_ ? Step::has_hello : Step::listens;
  while (!bytes.empty() && step != Step::is_refused) {
    const std::string_view text = session_->receive(bytes, room);
    if (session_->fault() != TlsFault::none) return fail(session_->fault());
    if (!text.empty()) step = receive_frames(text);
  }
  return step;
}

FirstContact::Step FirstContact::receive_frames(std::string_view bytes) {
  while (!has_hello_) {
    const FrameReader::Frame frame = reader_.next(bytes);
    if (!frame && frame.error().length == kHttp2Length && !session_) {
      http2_ = "PRI ";
      output_ += http2_settings();
      return receive_http2(bytes);
    }
    if (!frame) {
      const bool lacks_keys = tls_ != nullptr && !session_;
      return refuse(lacks_keys ? refusal(kUsesKeys) : no_message(frame.error().length));
    }
    if (!*frame) return Step::listens;
    if ((*frame)->empty()) {
      if (++keepalives_ > kKeepalivesMax) {
        return refuse(refusal(kKeepalivesBeforeHello));
      }
      say(keepalive());
      continue;
    }
    if (!read_message(**frame, hello_) || !hello_.has_hello()) {
      return refuse(refusal(kFirstIsNoHello));
    }
    has_hello_ = true;
  }
  rest_ += bytes;
  return Step::has_hello;
}

FirstContact::Step FirstContact::receive_http2(std::string_view bytes) {
  http2_->append(bytes.substr(0, kHttp2BytesMax - http2_->size()));
  if (!http2_has_call(*http2_) && http2_->size() < kHttp2BytesMax) return Step::listens;
  reason_ = refusal(kOldRank).message;
  output_ += http2_refusal(reason_);
  return Step::is_refused;
}

FirstContact::Step FirstContact::refuse(const Refusal& why) {
  reason_ = why.message;
  if (!session_ || session_->is_open()) say(frame_of(reply_of(why)));
  if (session_) session_->end();
  return Step::is_refused;
}

// OpenSSL has already written an alert that fits.
FirstContact::Step FirstContact::fail(TlsFault fault) {
  reason_ = std::string("a connection with TLS: ") + text_of(fault);
  return Step::is_refused;
}

void FirstContact::say(const std::string& bytes) {
  if (!session_) {
    output_ += bytes;
  } else if (session_->fault() == TlsFault::none) {
    session_->send(bytes);
  }
}

std::string FirstContact::take_output() {
  std::string output = std::exchange(output_, {});
  if (session_) {
    output += session_->output();
    session_->sent(session_->output().size());
  }
  return output;
}

std::string FirstContact::take_rest() { return std::exchange(rest_, {}); }

Refusal no_message(std::uint32_t length) {
  return refusal(kLongMessage, length, Number{kRequestBytesMax});
}

}  // namespace infold::join
