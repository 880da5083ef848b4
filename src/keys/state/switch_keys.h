// SPDX-License-Identifier: Apache-2.0
//
// The keys of a switch in its state directory: its certificate, its secrets and its tokens. The
// first start makes them. Each function reads the directory, and holds its lock while it changes
// something. Errors are sentences for people. `now` is in seconds since 1970.
#pragma once

#include <cstdint>
#include <string>

#include "keys/certificate.h"
#include "keys/state/state_directory.h"
#include "keys/state/token_book.h"

namespace infold::keys {

struct SwitchKeys {
  Identity identity;
  TokenBook book;
  std::string open_token;  // for any job; the switch prints it as part of the string to join with
};

// Reads the keys of a switch that starts, and makes those that are missing.
Stated<SwitchKeys> load_or_make_keys(const StateDirectory& state, std::int64_t now);
// Reads the secrets and tokens of a directory that has them.
Stated<TokenBook> load_book(const StateDirectory& state);
// Reads the fingerprint of a directory that has a certificate.
Stated<Fingerprint> load_fingerprint(const StateDirectory& state);

struct NewToken {
  std::uint64_t id = 0;
  std::string text;
};
// Makes a token and enters it into the list. Draws its id, whatever the grant has.
Stated<NewToken> add_token(const StateDirectory& state, Grant grant, std::int64_t now);
// Returns false if the list has no such token, or it was revoked before.
Stated<bool> revoke_token(const StateDirectory& state, std::uint64_t id, std::int64_t now);
// Draws a new secret. The current one becomes the previous one, which still counts, and tokens by
// the one before it do not count any more.
Stated<void> renew_secret(const StateDirectory& state, std::int64_t now);

}  // namespace infold::keys
