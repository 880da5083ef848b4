// SPDX-License-Identifier: Apache-2.0
#include "join/client/secured.h"

#include <optional>
#include <utility>

#include "join/connection/tls_conversation.h"
#include "join/refusals.h"

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
  switch (session.fault()) {
    case TlsFault::wrong_certificate:
      return refusal(sentences::kOtherCertificate, host,
                     session.shown() ? session.shown()->text() : "(unreadable)",
                     session.expected()->text());
    case TlsFault::not_tls:
    case TlsFault::told_version:
      if (session.is_open()) return std::nullopt;
      return refusal(sentences::kSwitchWithoutKeys, host);
    case TlsFault::no_version:
    case TlsFault::nothing_shared:
      return refusal(sentences::kNoCommonTls, host, text_of(session.fault()));
    default: return std::nullopt;
  }
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
