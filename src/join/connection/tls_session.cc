// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/check.h"

namespace infold::join {
namespace {

// The longest record of TLS 1.3 after its head.
constexpr std::size_t kRecordBytesMax = (16 << 10) + 256;
// A handshake's answer has less than 2 KiB. What send() takes comes one by one, and the answers to
// KeyUpdates are few.
constexpr std::size_t kOutputBytesMax = 16 << 10;

}  // namespace

class TlsSession::Io {
 public:
  static bool attach(SSL* ssl, TlsSession* session) {
    BIO* const bio = BIO_new(method());
    if (bio == nullptr) return false;
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_msg_callback(ssl, &note_message);
    SSL_set_msg_callback_arg(ssl, session);
    return SSL_set_app_data(ssl, session) == 1;
  }

  // OpenSSL calls this in place of a check of names and authorities. It then checks that the other
  // end has the certificate's key.
  static int verify(X509_STORE_CTX* store, void*) {
    const auto* const ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* const session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
    const X509* const leaf = X509_STORE_CTX_get0_cert(store);
    const base::Result<keys::Fingerprint> shown = keys::fingerprint_of(*leaf);
    if (shown) session->shown_ = *shown;
    if (shown && session->expected_ && *shown == *session->expected_) return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
  }

 private:
  static BIO_METHOD* method() {
    static BIO_METHOD* const kMethod = [] {
      BIO_METHOD* const made =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "join connection");
      BIO_meth_set_read_ex(made, &read);
      BIO_meth_set_write_ex(made, &write);
      BIO_meth_set_ctrl(
          made, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
      return made;
    }();
    return kMethod;
  }

  static int read(BIO* bio, char* to, std::size_t room, std::size_t* bytes) {
    BIO_clear_retry_flags(bio);
    std::string_view& input = static_cast<TlsSession*>(BIO_get_data(bio))->input_;
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    *bytes = std::min(room, input.size());
    std::memcpy(to, input.data(), *bytes);
    input.remove_prefix(*bytes);
    return 1;
  }

  static int write(BIO* bio, const char* from, std::size_t count, std::size_t* bytes) {
    BIO_clear_retry_flags(bio);
    std::string& output = static_cast<TlsSession*>(BIO_get_data(bio))->output_;
    if (output.size() + count > kOutputBytesMax) return 0;
    output.append(from, count);
    *bytes = count;
    return 1;
  }

  static void note_message(int is_own, int, int type, const void*, std::size_t, SSL*,
                           void* session) {
    auto* const own = static_cast<TlsSession*>(session);
    if (is_own == 0 && type == SSL3_RT_HANDSHAKE && own->is_open_) ++own->later_messages_;
  }
};

void TlsSession::Free::operator()(ssl_st* session) const { SSL_free(session); }

TlsSession::TlsSession(const TlsContext& context, std::optional<keys::Fingerprint> expected)
    : session_(SSL_new(&context.get())),
      records_(context.is_of_switch() ? kRankRecordBytesMax : kRecordBytesMax),
      expected_(std::move(expected)) {}
TlsSession::~TlsSession() = default;

std::unique_ptr<TlsSession> TlsSession::make(const TlsContext& context,
                                             std::optional<keys::Fingerprint> expected) {
  std::unique_ptr<TlsSession> made(new TlsSession(context, std::move(expected)));
  SSL* const ssl = made->session_.get();
  if (ssl == nullptr || !Io::attach(ssl, made.get())) {
    ERR_clear_error();
    return nullptr;
  }
  if (context.is_of_switch()) {
    SSL_set_accept_state(ssl);
  } else {
    SSL_set_connect_state(ssl);
  }
  return made;
}

std::unique_ptr<TlsSession> TlsSession::of_switch(const TlsContext& context) {
  CHECK(context.is_of_switch());
  return make(context, std::nullopt);
}

std::unique_ptr<TlsSession> TlsSession::of_rank(const TlsContext& context,
                                                const keys::Fingerprint& expected) {
  CHECK(!context.is_of_switch());
  return make(context, expected);
}

void TlsSession::accept_by_fingerprint(ssl_ctx_st& context) {
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(&context, &Io::verify, nullptr);
}

void TlsSession::begin() { handshake(); }

std::string_view TlsSession::receive(std::string_view& bytes, std::span<char> room) {
  CHECK(room.size() >= kTextBytesMax);
  if (has_ended_ || fault_ != TlsFault::none) {
    bytes = {};
    return {};
  }
  const std::size_t before = bytes.size();
  const TlsRecords::Record record = records_.next(bytes);
  if (!is_open_) {
    handshake_bytes_ += before - bytes.size();
    if (handshake_bytes_ > kHandshakeBytesMax) fail(TlsFault::long_handshake);
  }
  if (!record) fail(record.error());
  if (record && *record && !std::exchange(has_begun_, true) && !is_fit(**record)) {
    fail(TlsFault::long_handshake);
  }
  std::string_view text;
  if (fault_ == TlsFault::none && *record) {
    input_ = **record;
    if (is_open_) {
      text = read(room);
    } else {
      handshake();
    }
    // OpenSSL reads a record as a whole, unless it has failed.
    if (!input_.empty()) fail(TlsFault::bad_message);
    input_ = {};
    free_buffers();
  }
  if (fault_ != TlsFault::none) bytes = {};
  return text;
}

// Whether this may be the first record. A rank begins with a ClientHello, whose head is not cut.
bool TlsSession::is_fit(std::string_view record) const {
  if (SSL_is_server(session_.get()) == 0) return true;
  constexpr char kClientHello = 1;
  const std::string_view head = record.substr(TlsRecords::kHeadBytes, 4);
  if (record[0] != TlsRecords::kHandshake || head.size() < 4 || head[0] != kClientHello) {
    return false;
  }
  std::size_t length = 0;
  for (const char byte : head.substr(1)) length = length << 8 | static_cast<std::uint8_t>(byte);
  return length <= kHelloBytesMax;
}

void TlsSession::handshake() {
  ERR_clear_error();
  SSL* const ssl = session_.get();
  const int done = SSL_do_handshake(ssl);
  if (done == 1) {
    is_open_ = true;
  } else if (SSL_get_error(ssl, done) != SSL_ERROR_WANT_READ) {
    fail(take_tls_fault());
  }
}

std::string_view TlsSession::read(std::span<char> room) {
  ERR_clear_error();
  SSL* const ssl = session_.get();
  std::size_t bytes = 0;
  const int done = SSL_read_ex(ssl, room.data(), room.size(), &bytes);
  if (done != 1) {
    switch (SSL_get_error(ssl, done)) {
      case SSL_ERROR_WANT_READ: break;
      case SSL_ERROR_ZERO_RETURN: has_ended_ = true; break;
      default: fail(take_tls_fault());
    }
  }
  // A message of a rank that has begun would keep 16 KiB of OpenSSL's. KeyUpdates, the only ones
  // that a rank sends, have five bytes, and nobody cuts them.
  const bool is_cut = SSL_in_init(ssl) == 1 && SSL_is_server(ssl) == 1;
  if (later_messages_ > kLaterMessagesMax) fail(TlsFault::many_messages);
  if (is_cut) fail(TlsFault::bad_message);
  return {room.data(), bytes};
}

void TlsSession::send(std::string_view text) {
  CHECK(is_open_ && fault_ == TlsFault::none);
  CHECK(text.size() <= kSendBytesMax);
  ERR_clear_error();
  std::size_t bytes = 0;
  if (SSL_write_ex(session_.get(), text.data(), text.size(), &bytes) != 1) fail(take_tls_fault());
  free_buffers();
}

// After some messages of TLS, OpenSSL keeps a buffer of 16 KiB although it is empty.
void TlsSession::free_buffers() { SSL_free_buffers(session_.get()); }

void TlsSession::end() {
  if (!is_open_ || fault_ != TlsFault::none || std::exchange(says_no_more_, true)) return;
  ERR_clear_error();
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

void TlsSession::sent(std::size_t bytes) {
  CHECK(bytes <= output_.size() - sent_);
  sent_ += bytes;
  if (sent_ < output_.size()) return;
  std::string().swap(output_);
  sent_ = 0;
}

// The first fault is the cause of the others.
void TlsSession::fail(TlsFault fault) {
  if (fault_ == TlsFault::none) fault_ = fault;
}

}  // namespace infold::join
