// SPDX-License-Identifier: Apache-2.0
//
// For tests of TLS: an identity, two ends that talk in memory, and an end that OpenSSL speaks alone
// and that a test can make hostile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "base/check.h"
#include "join/connection/tls_session.h"
#include "keys/certificate.h"

namespace infold::join::testing {

inline const keys::Identity& own_identity() {
  static const keys::Identity kIdentity = *keys::Identity::make();
  return kIdentity;
}
inline const keys::Identity& other_identity() {
  static const keys::Identity kIdentity = *keys::Identity::make();
  return kIdentity;
}
inline std::unique_ptr<TlsSession> session_of_switch() {
  return TlsSession::of_switch(**TlsContext::of_switch(own_identity()));
}
inline std::unique_ptr<TlsSession> session_of_rank(
    const keys::Fingerprint& expected = own_identity().fingerprint()) {
  return TlsSession::of_rank(**TlsContext::of_ranks(), expected);
}

// Gives bytes to a session, in pieces, and returns the text.
inline std::string received(TlsSession& session, std::string_view bytes,
                            std::size_t piece = std::string::npos) {
  std::array<char, TlsSession::kTextBytesMax> room;
  std::string text;
  while (!bytes.empty()) {
    std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    while (!next.empty()) text += session.receive(next, room);
  }
  return text;
}

inline std::string taken_output(TlsSession& session) {
  std::string output(session.output());
  session.sent(output.size());
  return output;
}

// Lets two sessions talk until neither has more to say. Returns the text that each has heard.
struct Heard2 {
  std::string first, second;
};
inline Heard2 talk(TlsSession& first, TlsSession& second, std::size_t piece = std::string::npos) {
  Heard2 heard;
  while (!first.output().empty() || !second.output().empty()) {
    heard.second += received(second, taken_output(first), piece);
    heard.first += received(first, taken_output(second), piece);
  }
  return heard;
}

// An end that does what OpenSSL allows, and more: it can make any record.
class RawEnd {
 public:
  explicit RawEnd(bool is_switch = false, int version = TLS1_3_VERSION)
      : context_(SSL_CTX_new(is_switch ? TLS_server_method() : TLS_client_method()), &SSL_CTX_free),
        ssl_(nullptr, &SSL_free) {
    SSL_CTX* const context = context_.get();
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_keylog_callback(context, [](const SSL* ssl, const char* line) {
      static_cast<RawEnd*>(SSL_get_app_data(ssl))->note_secret(line);
    });
    if (is_switch) {
      SSL_CTX_use_certificate(context, &own_identity().certificate());
      SSL_CTX_use_PrivateKey(context, &own_identity().key());
    } else {
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    }
    ssl_.reset(SSL_new(context));
    input_ = BIO_new(BIO_s_mem());
    output_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(input_, -1);
    SSL_set_bio(ssl_.get(), input_, output_);
    SSL_set_app_data(ssl_.get(), this);
    is_switch ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  }

  SSL* ssl() const { return ssl_.get(); }

  // Takes bytes, goes on, and returns what it says.
  std::string answer(std::string_view bytes = {}) {
    if (!bytes.empty()) BIO_write(input_, bytes.data(), static_cast<int>(bytes.size()));
    if (!SSL_is_init_finished(ssl())) SSL_do_handshake(ssl());
    char text[1 << 14];
    int count = 0;
    while (SSL_is_init_finished(ssl()) && (count = SSL_read(ssl(), text, sizeof(text))) > 0) {
      heard += std::string(text, static_cast<std::size_t>(count));
    }
    return said();
  }
  std::string said() {
    std::string bytes(BIO_ctrl_pending(output_), '\0');
    if (!bytes.empty()) BIO_read(output_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  // The handshake with a session. False: it failed.
  bool meet(TlsSession& session) {
    std::string bytes = answer();
    while (!bytes.empty()) {
      received(session, bytes);
      bytes = answer(taken_output(session));
    }
    return SSL_is_init_finished(ssl()) && session.is_open();
  }
  std::string say(std::string_view text) {
    SSL_write(ssl(), text.data(), static_cast<int>(text.size()));
    return said();
  }
  std::string change_keys(bool asks_for_answer) {
    SSL_key_update(ssl(),
                   asks_for_answer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(ssl());
    return said();
  }

  // Returns the next record of a client that has sent nothing else after its handshake.
  std::string forged(char type, std::string_view text) {
    std::string plain(text);
    plain.push_back(type);
    const std::size_t bytes = plain.size() + kTagBytes;
    std::string record = {23, 3, 3, static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    std::string nonce = expanded("iv", kNonceBytes);
    for (std::size_t i = 0; i < 8; ++i) {
      nonce[kNonceBytes - 1 - i] = static_cast<char>(
          static_cast<std::uint8_t>(nonce[kNonceBytes - 1 - i]) ^ (forged_ >> 8 * i & 0xff));
    }
    ++forged_;
    return record + sealed(expanded("key", kKeyBytes), nonce, record, plain);
  }

  std::string heard;

 private:
  static constexpr std::size_t kTagBytes = 16, kNonceBytes = 12, kKeyBytes = 16;

  static unsigned char* raw(std::string& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
  }

  void note_secret(std::string_view line) {
    constexpr std::string_view kName = "CLIENT_TRAFFIC_SECRET_0 ";
    if (!line.starts_with(kName)) return;
    const std::string_view digits = line.substr(line.rfind(' ') + 1);
    secret_.clear();
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      secret_.push_back(
          static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
    }
  }

  // HKDF-Expand-Label of RFC 8446, section 7.1.
  std::string expanded(const std::string& label, std::size_t bytes) {
    const std::string name = "tls13 " + label;
    std::string info = {0, static_cast<char>(bytes), static_cast<char>(name.size())};
    info += name + '\0';
    EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
    EVP_KDF_CTX* const context = EVP_KDF_CTX_new(kdf);
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    std::string digest = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret_.data(), secret_.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
        OSSL_PARAM_construct_end()};
    std::string out(bytes, '\0');
    CHECK(EVP_KDF_derive(context, raw(out), bytes, parameters) == 1);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return out;
  }

  static std::string sealed(std::string key, std::string nonce, std::string head,
                            std::string plain) {
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    std::string out(plain.size() + kTagBytes, '\0');
    int bytes = 0;
    EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, raw(key), raw(nonce));
    EVP_EncryptUpdate(context, nullptr, &bytes, raw(head), static_cast<int>(head.size()));
    EVP_EncryptUpdate(context, raw(out), &bytes, raw(plain), static_cast<int>(plain.size()));
    EVP_EncryptFinal_ex(context, raw(out) + plain.size(), &bytes);
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, raw(out) + plain.size());
    EVP_CIPHER_CTX_free(context);
    return out;
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  BIO* input_ = nullptr;   // the session's
  BIO* output_ = nullptr;  // likewise
  std::string secret_;
  std::uint64_t forged_ = 0;
};

}  // namespace infold::join::testing
