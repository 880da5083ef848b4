// SPDX-License-Identifier: Apache-2.0
#include "join/client/secured.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "join/connection/tls_conversation.h"

namespace infold::join {
namespace {

// Ends when it begins, because OpenSSL cannot be used.
class Unusable final : public Conversation {
 public:
  explicit Unusable(std::shared_ptr<Conversation> inner) : inner_(std::move(inner)) {}

  void begin(Waker waker, base::Instant now) override {
    inner_->begin(std::move(waker), now);
    inner_->hear_end(text_of(TlsFault::out_of_memory));
  }
  void closed() override { inner_->closed(); }
  std::size_t room(base::Instant) override { return 0; }
  void receive(std::string_view, base::Instant) override {}
  void hear_end(const std::string&) override {}
  std::string_view output(base::Instant) override { return {}; }
  void sent(std::size_t, base::Instant) override {}
  base::Instant deadline() override { return base::Instant::never(); }
  void pass(base::Instant) override {}
  Wish wish() override { return Wish::close; }

 private:
  const std::shared_ptr<Conversation> inner_;
};

}  // namespace

std::optional<Refusal> refusal_of(const TlsSession& session, const std::string& host) {
  std::string why;
  switch (session.fault()) {
    case TlsFault::wrong_certificate:
      why = fmt::format(
          "{} has the certificate {}, and this rank was told to expect {}: if the switch got a new "
          "identity, take the new string that it printed at its start; if not, somebody else "
          "answers at this address",
          host, session.shown() ? session.shown()->text() : "(unreadable)",
          session.expected()->text());
      break;
    case TlsFault::not_tls:
    case TlsFault::told_version:
      if (session.is_open()) return std::nullopt;
      why = fmt::format(
          "the switch at {} does not use keys; it was started with --insecure, or is of an earlier "
          "version: start it with keys, or join at its host:port alone",
          host);
      break;
    case TlsFault::no_version:
    case TlsFault::nothing_shared:
      why = fmt::format("{} cannot be joined with keys: {}", host, text_of(session.fault()));
      break;
    default: return std::nullopt;
  }
  return Refusal{RefusalReason::invalid, std::move(why), -1};
}

std::shared_ptr<Conversation> secured(std::shared_ptr<Conversation> inner,
                                      const keys::Fingerprint& fingerprint, const std::string& host,
                                      std::function<void(const Refusal&)> refuse) {
  const auto context = TlsContext::of_ranks();
  auto session = context ? TlsSession::of_rank(**context, fingerprint) : nullptr;
  if (!session) return std::make_shared<Unusable>(std::move(inner));
  return std::make_shared<TlsConversation>(
      std::move(session), std::move(inner),
      [host, refuse = std::move(refuse)](const TlsSession& failed) {
        if (const std::optional<Refusal> refusal = refusal_of(failed, host)) refuse(*refusal);
      });
}

}  // namespace infold::join
