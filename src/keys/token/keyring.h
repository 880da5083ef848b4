// SPDX-License-Identifier: Apache-2.0
//
// What a switch accepts as proof: tokens by its current or its previous secret, unless they have
// expired or were revoked. A LiveKeyring hands the newest keyring to all threads of a switch, which
// go on while it is replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "base/mutex.h"
#include "keys/secret.h"
#include "keys/token/token.h"

namespace infold::keys {

// Why a token is not accepted, in the order in which the reasons are looked for.
enum class TokenFault : std::uint8_t {
  missing,
  malformed,
  unknown_secret,  // another switch made it, or the secret has been renewed twice since
  revoked,
  expired,
};

struct Keyring {
  Secret current;
  std::optional<Secret> previous;
  std::set<std::uint64_t> revoked;  // ids of tokens

  // `now` is in seconds since 1970.
  tl::expected<Grant, TokenFault> check(std::string_view token, std::int64_t now) const;
};

// Any thread may call.
class LiveKeyring {
 public:
  explicit LiveKeyring(Keyring keyring)
      : keyring_(std::make_shared<const Keyring>(std::move(keyring))) {}

  std::shared_ptr<const Keyring> now() const {
    const base::MutexLock lock(mutex_);
    return keyring_;
  }
  void replace(Keyring keyring) {
    auto next = std::make_shared<const Keyring>(std::move(keyring));
    const base::MutexLock lock(mutex_);
    keyring_.swap(next);
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<const Keyring> keyring_ GUARDED_BY(mutex_);
};

}  // namespace infold::keys
