// SPDX-License-Identifier: Apache-2.0
#include "keys/state/token_book.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace infold::keys {
namespace {

constexpr std::string_view kSecretsHead = "infold secrets 1";
constexpr std::string_view kTokensHead = "infold tokens 1";
constexpr std::string_view kNothing = "-";

// Takes the text up to the next separator, which it takes as well.
std::string_view take_word(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return word;
}

template <typename Number>
std::optional<Number> decimal_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole && fmt::to_string(number) == text ? std::optional(number) : std::nullopt;
}

// A number, or "-" for the value that means no limit.
template <typename Number>
std::optional<Number> limit_of(std::string_view text, Number unlimited) {
  return text == kNothing ? unlimited : decimal_of<Number>(text);
}

template <typename Number>
std::string limit_text(Number limit, Number unlimited) {
  return limit == unlimited ? std::string(kNothing) : fmt::to_string(limit);
}

const char* kind_of(const BookEntry& entry) {
  if (entry.is_open) return "open";
  return entry.grant.speaks_for_ranks ? "rack" : "rank";
}

std::string line_of(const BookEntry& entry) {
  const Grant& grant = entry.grant;
  return fmt::format(
      "{} {} {} {} {} {} {} {}\n", id_text(grant.id), kind_of(entry),
      entry.is_revoked ? "revoked" : "valid", entry.secret,
      limit_text(grant.not_after, Grant::kForever), limit_text(grant.ranks_max, Grant::kUnlimited),
      limit_text(grant.slots_max, Grant::kUnlimited), grant.job.empty() ? "*" : "=" + grant.job);
}

std::optional<BookEntry> entry_of(std::string_view line) {
  const std::string_view whole = line;
  BookEntry entry;
  const auto id = id_of(take_word(line, ' '));
  const std::string_view kind = take_word(line, ' ');
  const std::string_view state = take_word(line, ' ');
  const auto secret = decimal_of<std::uint64_t>(take_word(line, ' '));
  const auto not_after = limit_of(take_word(line, ' '), Grant::kForever);
  const auto ranks = limit_of(take_word(line, ' '), Grant::kUnlimited);
  const auto slots = limit_of(take_word(line, ' '), Grant::kUnlimited);
  const bool has_kind = kind == "open" || kind == "rack" || kind == "rank";
  const bool has_state = state == "valid" || state == "revoked";
  const bool has_job = line == "*" || (line.size() > 1 && line.front() == '=');
  if (!id || !has_kind || !has_state || !secret || !not_after || *not_after < 0 || !ranks ||
      !slots || !has_job) {
    return std::nullopt;
  }
  entry.is_open = kind == "open";
  entry.is_revoked = state == "revoked";
  entry.secret = *secret;
  entry.grant = {.id = *id,
                 .job = line == "*" ? std::string() : std::string(line.substr(1)),
                 .ranks_max = *ranks,
                 .slots_max = *slots,
                 .not_after = *not_after,
                 .speaks_for_ranks = kind == "rack"};
  // Each entry has one line, so that nothing is read that would be written in another way.
  return line_of(entry) == std::string(whole) + "\n" ? std::optional(entry) : std::nullopt;
}

}  // namespace

std::string TokenBook::secrets_text() const {
  return fmt::format("{}\n{} {} {}\n", kSecretsHead, number, text_of(current),
                     previous ? text_of(*previous) : std::string(kNothing));
}

std::string TokenBook::entries_text() const {
  std::string text = std::string(kTokensHead) + "\n";
  for (const BookEntry& entry : entries) text += line_of(entry);
  return text;
}

Stated<TokenBook> TokenBook::parse(std::string_view secrets, std::string_view entries) {
  const auto odd = [](std::string_view file, std::size_t line) {
    return tl::unexpected(fmt::format("{}: line {} is malformed", file, line));
  };
  TokenBook book;
  if (take_word(secrets, '\n') != kSecretsHead) return odd("secrets", 1);
  std::string_view line = take_word(secrets, '\n');
  const auto number = decimal_of<std::uint64_t>(take_word(line, ' '));
  const auto current = secret_of(take_word(line, ' '));
  const auto previous = secret_of(line);
  if (!number || !current || (!previous && line != kNothing)) return odd("secrets", 2);
  if (!secrets.empty()) return odd("secrets", 3);
  book.number = *number;
  book.current = *current;
  book.previous = previous;
  if (take_word(entries, '\n') != kTokensHead) return odd("tokens", 1);
  for (std::size_t at = 2; !entries.empty(); ++at) {
    const std::optional<BookEntry> entry = entry_of(take_word(entries, '\n'));
    if (!entry || book.entries.size() == kEntriesMax) return odd("tokens", at);
    book.entries.push_back(*entry);
  }
  return book;
}

Keyring TokenBook::keyring() const {
  Keyring keyring = {current, previous, {}};
  for (const BookEntry& entry : entries) {
    if (entry.is_revoked) keyring.revoked.insert(entry.grant.id);
  }
  return keyring;
}

const BookEntry* TokenBook::open_entry() const {
  const auto found = std::find_if(entries.begin(), entries.end(), [](const BookEntry& entry) {
    return entry.is_open && !entry.is_revoked;
  });
  return found == entries.end() ? nullptr : &*found;
}

void TokenBook::forget_dead(std::int64_t now) {
  std::erase_if(entries, [&](const BookEntry& entry) {
    return entry.grant.not_after < now || entry.secret + 1 < number;
  });
}

}  // namespace infold::keys
