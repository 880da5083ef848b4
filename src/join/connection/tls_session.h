// SPDX-License-Identifier: Apache-2.0
//
// One end of TLS 1.3 without a connection: encrypted bytes and plain ones go in and come out. It is
// a state machine around OpenSSL, which reads and writes memory here and no socket.
//
//   handshaking --Finished--> open --close_notify--> has_ended
//        \______________________\__________________ fault
//
// The memory of a session is bounded by the constants below, whatever the other end sends; a test
// measures it. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "join/connection/tls_context.h"
#include "join/connection/tls_fault.h"
#include "join/connection/tls_records.h"
#include "keys/certificate.h"

namespace infold::join {

class TlsSession {
 public:
  // The most plain bytes of one record.
  static constexpr std::size_t kTextBytesMax = 16 << 10;
  // The most that send() takes at once, so that what waits to be sent stays small.
  static constexpr std::size_t kSendBytesMax = 4 << 10;
  // The most of a record of a rank, after its head. A message has at most 4,100 bytes, and the
  // cipher adds 17. A rank that puts more into a record is cut off, so that a record that has begun
  // takes little memory.
  static constexpr std::size_t kRankRecordBytesMax = 4608;
  // Handshakes of ranks have less than 1 KiB. Unknown extensions have room. OpenSSL reserves memory
  // for a ClientHello as soon as its length is announced.
  static constexpr std::size_t kHelloBytesMax = 8 << 10;
  static constexpr std::size_t kHandshakeBytesMax = 16 << 10;
  // The most messages of TLS after the handshake, which are KeyUpdates, and tickets of switches
  // that strangers have written. AES asks for new keys after 2^24 records, which takes years of
  // keepalives.
  static constexpr int kLaterMessagesMax = 16;
  // The most memory of a switch's session: OpenSSL's share, a record that has begun, and bytes that
  // wait to be sent.
  static constexpr std::size_t kHandshakeMemory = 64 << 10;  // before it is open
  static constexpr std::size_t kOpenMemory = 26 << 10;

  // A switch's end, or that of a rank that accepts only a certificate with this fingerprint.
  // Returns null without memory. The context may go before the session.
  static std::unique_ptr<TlsSession> of_switch(const TlsContext& context);
  static std::unique_ptr<TlsSession> of_rank(const TlsContext& context,
                                             const keys::Fingerprint& expected);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Lets the context of ranks ask each session whether it accepts a certificate.
  static void accept_by_fingerprint(ssl_ctx_st& context);

  // A rank begins the handshake. Call it once.
  void begin();

  // Takes bytes off the front of `bytes`, at most up to the end of a record, and all of them after
  // a fault or the other end's close_notify. Returns the plain bytes of this record, which it
  // writes to `room`. Requires: kTextBytesMax bytes of room.
  std::string_view receive(std::string_view& bytes, std::span<char> room);

  // Encrypts these bytes. Requires: is_open(), no fault, at most kSendBytesMax bytes.
  void send(std::string_view text);
  // Says that this end sends no more. Does nothing unless the session is open.
  void end();

  // Returns the bytes to send next. They stay valid until any other call.
  std::string_view output() const { return std::string_view(output_).substr(sent_); }
  void sent(std::size_t bytes);

  bool is_open() const { return is_open_; }
  bool has_ended() const { return has_ended_; }  // the other end has sent its close_notify
  TlsFault fault() const { return fault_; }
  std::size_t waiting_bytes() const { return records_.waiting_bytes(); }
  // A rank's: the fingerprint that it expects, and that of the certificate that it was shown.
  const std::optional<keys::Fingerprint>& expected() const { return expected_; }
  const std::optional<keys::Fingerprint>& shown() const { return shown_; }

 private:
  class Io;  // OpenSSL's calls back to this session

  TlsSession(const TlsContext& context, std::optional<keys::Fingerprint> expected);
  static std::unique_ptr<TlsSession> make(const TlsContext& context,
                                          std::optional<keys::Fingerprint> expected);
  bool is_fit(std::string_view record) const;
  void handshake();
  std::string_view read(std::span<char> room);
  void free_buffers();
  void fail(TlsFault fault);

  struct Free {
    void operator()(ssl_st* session) const;
  };
  std::unique_ptr<ssl_st, Free> session_;
  TlsRecords records_;
  std::string_view input_;  // what OpenSSL has not read of the record
  std::string output_;
  std::size_t sent_ = 0;  // bytes of it
  std::size_t handshake_bytes_ = 0;
  int later_messages_ = 0;
  bool has_begun_ = false;  // a record has come
  bool is_open_ = false;
  bool has_ended_ = false;
  bool says_no_more_ = false;
  TlsFault fault_ = TlsFault::none;
  std::optional<keys::Fingerprint> expected_;
  std::optional<keys::Fingerprint> shown_;
};

}  // namespace infold::join
