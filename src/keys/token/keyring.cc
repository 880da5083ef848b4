// SPDX-License-Identifier: Apache-2.0
#include "keys/token/keyring.h"

namespace infold::keys {

tl::expected<Grant, TokenFault> Keyring::check(std::string_view token, std::int64_t now) const {
  if (token.empty()) return tl::unexpected(TokenFault::missing);
  const std::optional<UnprovenToken> read = UnprovenToken::parse(token);
  if (!read) return tl::unexpected(TokenFault::malformed);
  if (!read->is_marked_by(current) && !(previous && read->is_marked_by(*previous))) {
    return tl::unexpected(TokenFault::unknown_secret);
  }
  const Grant& grant = read->grant();
  if (revoked.contains(grant.id)) return tl::unexpected(TokenFault::revoked);
  if (now > grant.not_after) return tl::unexpected(TokenFault::expired);
  return grant;
}

}  // namespace infold::keys
