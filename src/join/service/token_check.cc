// SPDX-License-Identifier: Apache-2.0
#include "join/service/token_check.h"

#include "io/host/clock.h"
#include "join/refusals.h"

namespace infold::join {
namespace {

using namespace sentences;

Refusal refusal_of(keys::TokenFault fault) {
  switch (fault) {
    case keys::TokenFault::missing: return refusal(kNoToken);
    case keys::TokenFault::malformed: return refusal(kMalformedToken);
    case keys::TokenFault::unknown_secret: return refusal(kForeignToken);
    case keys::TokenFault::revoked: return refusal(kRevokedToken);
    case keys::TokenFault::expired: break;
  }
  return refusal(kExpiredToken);
}

}  // namespace

// The hour at which a token ends is one of the wall clock, so that it is the same after a restart.
TokenCheck::TokenCheck(std::shared_ptr<const keys::LiveKeyring> keyring, Clock clock)
    : keyring_(std::move(keyring)), clock_(clock ? std::move(clock) : io::seconds_since_1970) {}

Answer<std::optional<keys::Grant>> TokenCheck::check(const v1::Hello& hello) const {
  if (!is_on()) return std::nullopt;
  const auto grant = keyring_->now()->check(hello.token(), clock_());
  if (!grant) return tl::unexpected(refusal_of(grant.error()));
  if (!grant->job.empty() && grant->job != hello.job()) {
    return refused(kTokenOfAnotherJob);
  }
  if (hello.has_rack() && !grant->speaks_for_ranks) return refused(kTokenNotForRacks);
  return *grant;
}

std::string account_of(const keys::Grant& grant) { return "token " + keys::id_text(grant.id); }

}  // namespace infold::join
