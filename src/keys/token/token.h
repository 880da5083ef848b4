// SPDX-License-Identifier: Apache-2.0
//
// Tokens, which let ranks join a switch that uses keys. A token says what it permits, and carries
// a mark by the switch's secret, so that only the holder of the secret can make one. Whoever holds
// a token may use it: it is never logged, and never part of an error.
//
//   version 1 | flags 1 | id 8 | not after 8 | ranks 4 | slots 4 | length of the job's name 1 |
//   the name | HMAC-SHA256 of "infold token" and all bytes before, 32
//
// Numbers are big-endian, and the text is the base64url of the bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keys/secret.h"

namespace infold::keys {

// What a token permits, without what proves it.
struct Grant {
  static constexpr std::uint32_t kUnlimited = 0xFFFF'FFFF;
  static constexpr std::int64_t kForever = 0x7FFF'FFFF'FFFF'FFFF;

  std::uint64_t id = 0;
  std::string job;  // the job's name; empty: any job
  // Limits of all living jobs together whose ranks use this token: their ranks, and the slots that
  // they hold.
  std::uint32_t ranks_max = kUnlimited;
  std::uint32_t slots_max = kUnlimited;
  std::int64_t not_after = kForever;  // the last second in which it counts, since 1970
  // A rack's switch may join with it, and speak for the ranks of its rack.
  bool speaks_for_ranks = false;

  friend bool operator==(const Grant&, const Grant&) = default;
};

inline constexpr std::size_t kJobBytesMax = 128;
// The longest text of a token.
inline constexpr std::size_t kTokenTextMax = 256;

// Whether a job may have this name, as joining accepts it; the empty one stands for any job.
bool is_job_name(std::string_view text);

// Returns nothing if the name is too long, or libcrypto has no memory.
std::optional<std::string> make_token(const Grant& grant, const Secret& secret);

// A token as it arrived. Nothing in it may be believed before is_marked_by() is true.
class UnprovenToken {
 public:
  // Strict: each token has one text. Returns nothing for any other text.
  static std::optional<UnprovenToken> parse(std::string_view text);

  bool is_marked_by(const Secret& secret) const;
  const Grant& grant() const { return grant_; }

 private:
  Grant grant_;
  std::string claims_;
  std::string mark_;
};

// The id as people read and type it, in 16 hexadecimal digits.
std::string id_text(std::uint64_t id);
std::optional<std::uint64_t> id_of(std::string_view text);

}  // namespace infold::keys
