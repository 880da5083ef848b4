// SPDX-License-Identifier: Apache-2.0
//
// Reads arbitrary text as a string to join with, as a token and as base64url. Whatever is read has
// exactly one text, and no token is accepted that nobody has made.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "keys/base64.h"
#include "keys/token/join_string.h"
#include "keys/token/keyring.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold::keys;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = from_base64(text)) CHECK(base64_of(*bytes) == text);
  if (const auto join = parse_join_string(text)) CHECK(text_of(*join) == text);
  Secret secret;
  secret.bytes.fill(1);
  if (const auto token = UnprovenToken::parse(text)) {
    const auto again = UnprovenToken::parse(make_token(token->grant(), secret).value());
    CHECK(again && again->grant() == token->grant());
    CHECK(again->is_marked_by(secret));
  }
  const Keyring keyring = {Secret(), {}, {}};
  CHECK(!keyring.check(text, 0));
  return 0;
}
