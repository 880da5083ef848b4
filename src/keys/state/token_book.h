// SPDX-License-Identifier: Apache-2.0
//
// What a state directory knows of secrets and tokens: two secrets, and a list of the tokens that
// were made with them. The list has what tokens permit, but not the tokens themselves, so it lets
// nobody join.
//
//   infold secrets 1
//   3 CURRENT PREVIOUS               the number of the current secret, and both secrets; - for none
//
//   infold tokens 1
//   0123456789abcdef open valid 3 - - - *         id, kind, state, number of its secret, not after,
//   fedcba9876543210 rank revoked 3 1800000000 16 512 =my job     ranks, slots, job
//
// Pure. The texts are what files hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keys/secret.h"
#include "keys/state/state_directory.h"
#include "keys/token/keyring.h"
#include "keys/token/token.h"

namespace infold::keys {

struct BookEntry {
  Grant grant;
  // The token of the string that the switch prints when it starts: for any job, without limits.
  bool is_open = false;
  bool is_revoked = false;
  std::uint64_t secret = 0;  // the number of the secret that marks it

  friend bool operator==(const BookEntry&, const BookEntry&) = default;
};

struct TokenBook {
  static constexpr std::size_t kEntriesMax = 8192;

  std::uint64_t number = 1;  // counts secrets; the current one has it
  Secret current;
  std::optional<Secret> previous;
  std::vector<BookEntry> entries;

  std::string secrets_text() const;
  std::string entries_text() const;
  // Strict. The error is the end of a sentence about the file.
  static Stated<TokenBook> parse(std::string_view secrets, std::string_view entries);

  Keyring keyring() const;
  // The entry of the string that the switch prints, if there is one that counts.
  const BookEntry* open_entry() const;
  // Forgets the tokens that no keyring would accept any more, whatever their state.
  void forget_dead(std::int64_t now);
};

}  // namespace infold::keys
