// SPDX-License-Identifier: Apache-2.0
#include "keys/token/join_string.h"

#include <algorithm>

#include "keys/token/token.h"

namespace infold::keys {
namespace {

// The longest part of a host's name between dots (RFC 1035).
constexpr std::size_t kLabelBytesMax = 63;

// Where a string's keys begin: at its '#', or, if that was lost, at the first part that is too long
// for a host's name. All tokens are longer than such a part.
std::size_t keys_at(std::string_view text) {
  const std::size_t hash = std::min(text.find('#'), text.size());
  std::size_t part = 0;
  for (std::size_t i = 0; i < hash; ++i) {
    if (text[i] == '.' || text[i] == ':') part = i + 1;
    if (i - part + 1 > kLabelBytesMax) return part;
  }
  return hash;
}

}  // namespace

tl::expected<JoinString, const char*> parse_join_string(std::string_view text) {
  const std::size_t at = keys_at(text);
  JoinString join;
  join.place = text.substr(0, at);
  if (at == text.size()) return join;
  if (text[at] != '#') {
    return tl::unexpected<const char*>(
        "has a part that is too long for a host's name; write '#' between the switch's address and "
        "its keys");
  }
  const std::string_view keys = text.substr(at + 1);
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
  return join_string.substr(0, keys_at(join_string));
}

}  // namespace infold::keys
