// SPDX-License-Identifier: Apache-2.0
#include "keys/token/join_string.h"

#include "keys/token/token.h"

namespace infold::keys {
tl::expected<JoinString, const char*> parse_join_string(std::string_view text) {
  const std::size_t hash = text.find('#');
  JoinString join;
  join.place = text.substr(0, hash);
  if (hash == text.npos) return join;
  const std::string_view keys = text.substr(hash + 1);
  const std::size_t dot = keys.find('.');
  if (dot == keys.npos) {
    return tl::unexpected<const char*>("has no '.' between fingerprint and token behind its '#'");
  }
  const base::Result<Fingerprint> fingerprint = Fingerprint::parse(keys.substr(0, dot));
  if (!fingerprint) {
    return tl::unexpected<const char*>(
        "has a fingerprint that is not complete; copy the whole string");
  }
  join.fingerprint = *fingerprint;
  join.token = keys.substr(dot + 1);
  if (!UnprovenToken::parse(join.token)) {
    return tl::unexpected<const char*>("has a token that is not complete; copy the whole string");
  }
  return join;
}

std::string text_of(const JoinString& join) {
  return join.has_keys() ? join.place + "#" + join.fingerprint->text() + "." + join.token
                         : join.place;
}

std::string_view place_of(std::string_view join_string) {
  return join_string.substr(0, join_string.find('#'));
}

}  // namespace infold::keys
