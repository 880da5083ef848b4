// SPDX-License-Identifier: Apache-2.0
#include "keys/token/token.h"

#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/plain_text.h"
#include "keys/base64.h"

namespace infold::keys {
namespace {

constexpr unsigned char kVersion = 1;
constexpr unsigned char kSpeaksForRanks = 1;
constexpr std::string_view kPurpose = "infold token";
constexpr std::size_t kFixedBytes = 1 + 1 + 8 + 8 + 4 + 4 + 1;

void add_number(std::string& bytes, std::uint64_t number, int count) {
  for (int i = count; i-- > 0;) bytes += static_cast<char>(number >> (8 * i) & 255);
}

std::uint64_t take_number(std::string_view& bytes, int count) {
  std::uint64_t number = 0;
  for (int i = 0; i < count; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  }
  bytes.remove_prefix(static_cast<std::size_t>(count));
  return number;
}

std::string claims_of(const Grant& grant) {
  std::string claims;
  add_number(claims, kVersion, 1);
  add_number(claims, grant.speaks_for_ranks ? kSpeaksForRanks : 0, 1);
  add_number(claims, grant.id, 8);
  add_number(claims, static_cast<std::uint64_t>(grant.not_after), 8);
  add_number(claims, grant.ranks_max, 4);
  add_number(claims, grant.slots_max, 4);
  add_number(claims, grant.job.size(), 1);
  return claims + grant.job;
}

std::optional<std::string> mark_of_claims(const std::string& claims, const Secret& secret) {
  return mark_of(secret, std::string(kPurpose) + claims);
}

}  // namespace

bool is_job_name(std::string_view text) {
  return text.size() <= kJobBytesMax && base::is_plain_line(text);
}

std::optional<std::string> make_token(const Grant& grant, const Secret& secret) {
  if (!is_job_name(grant.job) || grant.not_after < 0) return std::nullopt;
  std::string bytes = claims_of(grant);
  const std::optional<std::string> mark = mark_of_claims(bytes, secret);
  if (!mark) return std::nullopt;
  return base64_of(bytes + *mark);
}

std::optional<UnprovenToken> UnprovenToken::parse(std::string_view text) {
  if (text.size() > kTokenTextMax) return std::nullopt;
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes || bytes->size() < kFixedBytes + kMarkBytes) return std::nullopt;
  UnprovenToken token;
  token.claims_ = bytes->substr(0, bytes->size() - kMarkBytes);
  token.mark_ = bytes->substr(token.claims_.size());
  std::string_view left = token.claims_;
  if (take_number(left, 1) != kVersion) return std::nullopt;
  const std::uint64_t flags = take_number(left, 1);
  if ((flags & ~std::uint64_t{kSpeaksForRanks}) != 0) return std::nullopt;
  Grant& grant = token.grant_;
  grant.speaks_for_ranks = flags != 0;
  grant.id = take_number(left, 8);
  grant.not_after = static_cast<std::int64_t>(take_number(left, 8));
  grant.ranks_max = static_cast<std::uint32_t>(take_number(left, 4));
  grant.slots_max = static_cast<std::uint32_t>(take_number(left, 4));
  if (take_number(left, 1) != left.size() || !is_job_name(left)) return std::nullopt;
  if (grant.not_after < 0) return std::nullopt;
  grant.job = left;
  return token;
}

bool UnprovenToken::is_marked_by(const Secret& secret) const {
  const std::optional<std::string> mark = mark_of_claims(claims_, secret);
  return mark && are_equal(*mark, mark_);
}

std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

std::optional<std::uint64_t> id_of(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text != id_text(id)) {
    return std::nullopt;
  }
  return id;
}

}  // namespace infold::keys
