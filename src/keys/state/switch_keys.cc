// SPDX-License-Identifier: Apache-2.0
#include "keys/state/switch_keys.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "io/host/entropy.h"

namespace infold::keys {
namespace {

constexpr const char* kCertificate = "certificate.pem";
constexpr const char* kKey = "key.pem";
constexpr const char* kSecrets = "secrets";
constexpr const char* kTokens = "tokens";

using Text = std::optional<std::string>;

tl::unexpected<std::string> no_openssl() {
  return tl::unexpected<std::string>("OpenSSL has neither memory nor entropy left");
}

// Reads two files of which the second is written first. Empty: the first is missing, so the second
// is worthless, and a start that was killed may have left it behind.
Stated<std::optional<std::pair<std::string, std::string>>> read_both(const StateDirectory& state,
                                                                     const char* one,
                                                                     const char* other) {
  const Stated<Text> first = state.read(one);
  if (!first) return tl::unexpected(first.error());
  if (!*first) return std::nullopt;
  const Stated<Text> second = state.read(other);
  if (!second) return tl::unexpected(second.error());
  if (*second) return std::pair(**first, **second);
  return tl::unexpected(fmt::format("{} has {}, but no {}: restore it from a copy, or remove {}",
                                    state.path(), one, other, one));
}

Stated<std::optional<Identity>> read_identity(const StateDirectory& state) {
  const auto texts = read_both(state, kCertificate, kKey);
  if (!texts) return tl::unexpected(texts.error());
  if (!*texts) return std::nullopt;
  const base::Result<Identity> identity = Identity::from_pem((*texts)->first, (*texts)->second);
  if (identity) return *identity;
  return tl::unexpected(
      fmt::format("{}: {} and {}: {}", state.path(), kCertificate, kKey, identity.error().detail));
}

// The key comes first, so that a certificate is never without one.
Stated<Identity> make_identity(const StateDirectory& state) {
  const base::Result<Identity> identity = Identity::make();
  if (!identity) return tl::unexpected(std::string(identity.error().detail));
  const base::Result<std::string> key = identity->key_pem();
  const base::Result<std::string> certificate = identity->certificate_pem();
  if (!key || !certificate) return no_openssl();
  if (const auto written = state.write(kKey, *key); !written) {
    return tl::unexpected(written.error());
  }
  if (const auto written = state.write(kCertificate, *certificate); !written) {
    return tl::unexpected(written.error());
  }
  return *identity;
}

Stated<std::optional<TokenBook>> read_book(const StateDirectory& state) {
  const auto texts = read_both(state, kSecrets, kTokens);
  if (!texts) return tl::unexpected(texts.error());
  if (!*texts) return std::nullopt;
  const Stated<TokenBook> book = TokenBook::parse((*texts)->first, (*texts)->second);
  if (!book) return tl::unexpected(state.path() + "/" + book.error());
  return *book;
}

Stated<void> write_tokens(const StateDirectory& state, TokenBook& book, std::int64_t now) {
  book.forget_dead(now);
  return state.write(kTokens, book.entries_text());
}

// An id is never 0, and never that of another token in the list.
std::uint64_t draw_id(const TokenBook& book) {
  for (;;) {
    const std::uint64_t id = io::fresh_number();
    const bool is_used = std::any_of(book.entries.begin(), book.entries.end(),
                                     [id](const BookEntry& each) { return each.grant.id == id; });
    if (id != 0 && !is_used) return id;
  }
}

// Whether the book had to change so that it has an open token by the current secret.
bool complete(TokenBook& book) {
  if (const BookEntry* const open = book.open_entry()) {
    BookEntry& own = book.entries[static_cast<std::size_t>(open - book.entries.data())];
    return std::exchange(own.secret, book.number) != book.number;
  }
  book.entries.push_back({.grant = {.id = draw_id(book)}, .is_open = true, .secret = book.number});
  return true;
}

// Begins a change: holds the lock, and has the book as it is.
struct Change {
  StateDirectory::Lock lock;
  TokenBook book;
};

Stated<Change> begin_change(const StateDirectory& state) {
  Stated<StateDirectory::Lock> lock = state.lock();
  if (!lock) return tl::unexpected(lock.error());
  Stated<TokenBook> book = load_book(state);
  if (!book) return tl::unexpected(book.error());
  return Change{std::move(*lock), std::move(*book)};
}

}  // namespace

Stated<SwitchKeys> load_or_make_keys(const StateDirectory& state, std::int64_t now) {
  const Stated<StateDirectory::Lock> lock = state.lock();
  if (!lock) return tl::unexpected(lock.error());
  Stated<std::optional<Identity>> identity = read_identity(state);
  if (!identity) return tl::unexpected(identity.error());
  Stated<std::optional<TokenBook>> found = read_book(state);
  if (!found) return tl::unexpected(found.error());
  if (!*identity) {
    Stated<Identity> made = make_identity(state);
    if (!made) return tl::unexpected(made.error());
    *identity = std::move(*made);
  }
  TokenBook book;
  if (*found) {
    book = std::move(**found);
    if (complete(book)) {
      if (const auto written = write_tokens(state, book, now); !written) {
        return tl::unexpected(written.error());
      }
    }
  } else {
    const std::optional<Secret> secret = draw_secret();
    if (!secret) return no_openssl();
    book.current = *secret;
    complete(book);
    for (const auto& written :
         {write_tokens(state, book, now), state.write(kSecrets, book.secrets_text())}) {
      if (!written) return tl::unexpected(written.error());
    }
  }
  const std::optional<std::string> token = make_token(book.open_entry()->grant, book.current);
  if (!token) return no_openssl();
  return SwitchKeys{std::move(**identity), std::move(book), *token};
}

Stated<TokenBook> load_book(const StateDirectory& state) {
  Stated<std::optional<TokenBook>> book = read_book(state);
  if (!book) return tl::unexpected(book.error());
  if (*book) return std::move(**book);
  return tl::unexpected(state.path() +
                        " has no secret yet: a switch makes it when it starts with keys");
}

Stated<Fingerprint> load_fingerprint(const StateDirectory& state) {
  const Stated<std::optional<Identity>> identity = read_identity(state);
  if (!identity) return tl::unexpected(identity.error());
  if (*identity) return (*identity)->fingerprint();
  return tl::unexpected(state.path() +
                        " has no certificate yet: a switch makes it when it starts with keys");
}

Stated<NewToken> add_token(const StateDirectory& state, Grant grant, std::int64_t now) {
  Stated<Change> change = begin_change(state);
  if (!change) return tl::unexpected(change.error());
  TokenBook& book = change->book;
  book.forget_dead(now);
  if (book.entries.size() >= TokenBook::kEntriesMax) {
    return tl::unexpected(
        fmt::format("{} has {} tokens, the most there can be: give tokens a --ttl, after which the "
                    "list forgets them, or renew the secret twice",
                    state.path(), book.entries.size()));
  }
  const std::uint64_t id = grant.id = draw_id(book);
  const std::optional<std::string> token = make_token(grant, book.current);
  if (!token) return no_openssl();
  book.entries.push_back({.grant = std::move(grant), .secret = book.number});
  if (const auto written = write_tokens(state, book, now); !written) {
    return tl::unexpected(written.error());
  }
  return NewToken{id, *token};
}

Stated<bool> revoke_token(const StateDirectory& state, std::uint64_t id, std::int64_t now) {
  Stated<Change> change = begin_change(state);
  if (!change) return tl::unexpected(change.error());
  std::vector<BookEntry>& entries = change->book.entries;
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [id](const BookEntry& each) { return each.grant.id == id; });
  if (found == entries.end() || found->is_revoked) return false;
  found->is_revoked = true;
  if (const auto written = write_tokens(state, change->book, now); !written) {
    return tl::unexpected(written.error());
  }
  return true;
}

// The secrets are written first: if the process is killed before the tokens are, the list has the
// older number for the open token, which the next start corrects.
Stated<void> renew_secret(const StateDirectory& state, std::int64_t now) {
  Stated<Change> change = begin_change(state);
  if (!change) return tl::unexpected(change.error());
  TokenBook& book = change->book;
  const std::optional<Secret> secret = draw_secret();
  if (!secret) return no_openssl();
  book.previous = std::exchange(book.current, *secret);
  ++book.number;
  if (const auto written = state.write(kSecrets, book.secrets_text()); !written) return written;
  complete(book);
  return write_tokens(state, book, now);
}

}  // namespace infold::keys
