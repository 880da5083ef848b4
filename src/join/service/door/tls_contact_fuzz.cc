// SPDX-License-Identifier: Apache-2.0
//
// Bytes become what a stranger sends to a server with a certificate, from its first byte on: bytes
// of its own, a handshake that it follows, spoils or leaves, and records that it makes with the
// right keys. Random numbers come from a seed, so a run is the same each time. Invariants: what the
// server holds is bounded, each fault has a sentence, OpenSSL's errors are dropped, and the inner
// conversation hears only what was encrypted for it.
#define OPENSSL_SUPPRESS_DEPRECATED  // for RAND_METHOD, which sets the random numbers
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "base/prng.h"
#include "join/connection/tls_conversation.h"
#include "join/connection/tls_testing.h"
#include "join/registry/fuzzing.h"
#include "join/service/door/first_contact.h"

namespace infold::join::fuzzing {
namespace {

// A server's handshake has less than 2 KiB.
constexpr std::size_t kOutputMax = 8 << 10;
constexpr base::Instant kNow{1};

base::Prng prng(1);

int fill(unsigned char* bytes, int count) {
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(prng.next());
  return 1;
}

const TlsContext& context() {
  static const RAND_METHOD kMethod = {nullptr, &fill, nullptr, nullptr, &fill, [] { return 1; }};
  static const auto kContext = [] {
    RAND_set_rand_method(&kMethod);
    return *TlsContext::of_switch(testing::own_identity());
  }();
  return *kContext;
}

class Inner final : public Conversation {
 public:
  void begin(Waker, base::Instant) override {}
  void closed() override {}
  std::size_t room(base::Instant) override { return 4100; }
  void receive(std::string_view bytes, base::Instant) override {
    CHECK(!bytes.empty() && ends == 0);
    heard += bytes.size();
  }
  void note_overhead(std::size_t bytes, base::Instant) override { heard += bytes; }
  void hear_end(const std::string&) override { CHECK(++ends == 1); }
  std::string_view output(base::Instant) override { return says; }
  void sent(std::size_t bytes, base::Instant) override { says.erase(0, bytes); }
  base::Instant deadline() override { return base::Instant::never(); }
  void pass(base::Instant) override {}
  Wish wish() override { return wants; }

  std::string says;
  std::size_t heard = 0;
  int ends = 0;
  Wish wants = Wish::talk;
};

class Run {
 public:
  explicit Run(Choices choices) : choices_(choices), contact_(&context()) {}

  void all() {
    while (choices_.are_left() && !is_over_) {
      const std::string bytes = next();
      ERR_clear_error();  // of the stranger's end
      give(bytes);
      CHECK(ERR_peek_error() == 0);
    }
    ERR_clear_error();
    if (conversation_) conversation_->hear_end("");
  }

 private:
  // What the stranger sends next.
  std::string next() {
    const bool is_open = SSL_is_init_finished(rank_.ssl()) != 0;
    switch (choices_.below(8)) {
      case 0: return text();
      case 1: return spoilt(rank_.answer(to_rank_));
      case 2: return is_open ? rank_.say(text()) : "";
      case 3: return is_open ? rank_.change_keys(choices_.below(2) == 0) : "";
      case 4: return is_open ? rank_.forged(static_cast<char>(choices_.byte()), text()) : "";
      case 5: return is_open ? rank_.say(hello()) : "";
      case 6: SSL_shutdown(rank_.ssl()); return rank_.said();
      default: return rank_.answer(std::exchange(to_rank_, {}));
    }
  }

  std::string text() {
    const auto bytes = choices_.some();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string spoilt(std::string bytes) {
    to_rank_.clear();
    if (bytes.empty()) return bytes;
    char& one = bytes[choices_.byte() * bytes.size() / 256];
    one = static_cast<char>(one ^ choices_.byte());
    return bytes;
  }

  static std::string hello() {
    v1::JoinRequest request;
    request.mutable_hello()->set_job("job");
    return frame_of(request) + keepalive();
  }

  void give(const std::string& bytes) {
    if (bytes.empty()) return;
    if (conversation_) return give_conversation(bytes);
    FirstContact::Step step = contact_.receive(bytes);
    if (step == FirstContact::Step::asks) {
      step = choices_.below(8) == 0 ? contact_.turn_away({RefusalReason::full, "full", -1})
                                    : contact_.shake_hands();
    }
    const std::string output = contact_.take_output();
    CHECK(output.size() <= kOutputMax);
    to_rank_ += output;
    if (step == FirstContact::Step::is_refused) {
      CHECK(!contact_.reason().empty());
      is_over_ = true;
    }
    if (step == FirstContact::Step::has_hello) enter();
  }

  void enter() {
    auto session = contact_.take_session();
    CHECK(session && session->is_open());
    session_ = session.get();
    conversation_ = std::make_unique<TlsConversation>(
        std::move(session), inner_,
        [](const TlsSession& failed) { CHECK(*text_of(failed.fault()) != '\0'); });
    conversation_->begin([] {}, kNow);
  }

  void give_conversation(const std::string& bytes) {
    std::string_view left = bytes;
    while (!left.empty()) {
      const std::string_view some = left.substr(0, conversation_->room(kNow));
      left.remove_prefix(some.size());
      conversation_->receive(some, kNow);
      given_ += some.size();
    }
    CHECK(inner_->heard + session_->waiting_bytes() <= given_ + TlsSession::kRankRecordBytesMax);
    CHECK(session_->waiting_bytes() <= TlsSession::kRankRecordBytesMax + TlsRecords::kHeadBytes);
    if (choices_.below(4) == 0) inner_->says += std::string(choices_.byte() * 50, 'x');
    if (choices_.below(16) == 0) inner_->wants = Conversation::Wish::finish;
    const std::string_view output = conversation_->output(kNow);
    CHECK(output.size() <= kOutputMax);
    const std::size_t sent = std::min<std::size_t>(output.size(), choices_.byte() * 64);
    to_rank_ += output.substr(0, sent);
    if (sent > 0) conversation_->sent(sent, kNow);
    is_over_ = conversation_->wish() == Conversation::Wish::close;
  }

  Choices choices_;
  FirstContact contact_;
  testing::RawEnd rank_;
  std::string to_rank_;
  std::shared_ptr<Inner> inner_ = std::make_shared<Inner>();
  TlsSession* session_ = nullptr;
  std::unique_ptr<TlsConversation> conversation_;
  std::size_t given_ = 0;
  bool is_over_ = false;
};

}  // namespace
}  // namespace infold::join::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold::join::fuzzing;
  context();
  prng = infold::base::Prng(1);
  Run(Choices({data, size})).all();
  return 0;
}
