// SPDX-License-Identifier: Apache-2.0
//
// Checks the token of a Hello, before anything else of it counts. Any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "join/registrar.h"
#include "keys/token/keyring.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

class TokenCheck {
 public:
  // Returns the seconds since 1970.
  using Clock = std::function<std::int64_t()>;

  // A switch without a keyring uses no keys, and takes every rank.
  explicit TokenCheck(std::shared_ptr<const keys::LiveKeyring> keyring = {}, Clock clock = {});

  bool is_on() const { return keyring_ != nullptr; }
  // Returns what the rank may do; empty: the switch uses no keys.
  Answer<std::optional<keys::Grant>> check(const v1::Hello& hello) const;

 private:
  std::shared_ptr<const keys::LiveKeyring> keyring_;
  Clock clock_;
};

// Under which name limits count the ranks with a token.
std::string account_of(const keys::Grant& grant);

}  // namespace infold::join
