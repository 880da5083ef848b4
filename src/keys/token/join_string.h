// SPDX-License-Identifier: Apache-2.0
//
// The string that ranks join a switch with:
//
//   host:port                     a switch without keys
//   host:port#fingerprint.token   a switch with keys
//
// The fingerprint and the token are base64url texts, so they contain neither '#' nor '.'. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "keys/certificate.h"

namespace infold::keys {

struct JoinString {
  std::string place;                       // host:port, in any form that addresses have
  std::optional<Fingerprint> fingerprint;  // empty: the switch uses no keys
  std::string token;

  bool has_keys() const { return fingerprint.has_value(); }
};

// The error is the end of a sentence about the string, and shows no part of the keys.
tl::expected<JoinString, const char*> parse_join_string(std::string_view text);
std::string text_of(const JoinString& join);

// Returns the part that may be shown to people: the place, without the keys.
std::string_view place_of(std::string_view join_string);
// Whether the string has keys, so that it must be kept secret.
inline bool has_keys(std::string_view join_string) {
  return join_string.find('#') != join_string.npos;
}

}  // namespace infold::keys
