// SPDX-License-Identifier: Apache-2.0
#include "keys/token/rendezvous_keys.h"

#include <optional>
#include <utility>

namespace infold::keys {

tl::expected<RendezvousKeys, const char*> RendezvousKeys::of(std::string_view shared) {
  const auto failed = [](const char* why) { return tl::unexpected<const char*>(why); };
  if (shared.size() < kSharedTextMin) return failed("is too short; allowed: 16 to 1024 characters");
  if (shared.size() > kSharedTextMax) return failed("is too long; allowed: 16 to 1024 characters");
  constexpr const char* kNoOpenssl = "cannot be used, because OpenSSL has no memory";
  const std::optional<Secret> seed = derive(shared, "infold rendezvous identity");
  const std::optional<Secret> secret = derive(shared, "infold rendezvous token");
  if (!seed || !secret) return failed(kNoOpenssl);
  base::Result<Identity> identity = Identity::of_secret(*seed);
  std::optional<std::string> token = make_token({.id = 1}, *secret);
  if (!identity || !token) return failed(kNoOpenssl);
  return RendezvousKeys{std::move(*identity), {*secret, {}, {}}, std::move(*token)};
}

}  // namespace infold::keys
