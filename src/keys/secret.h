// SPDX-License-Identifier: Apache-2.0
//
// Secrets of 32 bytes and what is computed with them, by libcrypto. A secret has no text for
// people, so that no log and no error can show one by mistake; text_of() is for files alone.
//
// Any thread may call. A function returns nothing if libcrypto has no memory or no entropy.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace infold::keys {

inline constexpr std::size_t kSecretBytes = 32;

struct Secret {
  std::array<unsigned char, kSecretBytes> bytes = {};
};

// Draws a secret from the system's entropy.
std::optional<Secret> draw_secret();
// Returns a secret for one purpose, which tells nothing about `from` (HKDF-SHA256, RFC 5869,
// without a salt). Two purposes that differ in `info` get secrets that have nothing in common.
std::optional<Secret> derive(std::string_view from, std::string_view info);
inline std::optional<Secret> derive(const Secret& from, std::string_view info) {
  return derive({reinterpret_cast<const char*>(from.bytes.data()), from.bytes.size()}, info);
}

// HMAC-SHA256 (RFC 2104), as 32 bytes.
inline constexpr std::size_t kMarkBytes = 32;
std::optional<std::string> mark_of(const Secret& secret, std::string_view message);
// Whether two texts are equal, in a time that depends on their lengths alone.
bool are_equal(std::string_view one, std::string_view other);

// The text of a secret in a file, and back.
std::string text_of(const Secret& secret);
std::optional<Secret> secret_of(std::string_view text);

}  // namespace infold::keys
