// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text of letters, digits, - and _ (base64url of RFC 4648, without padding), which needs
// no quotes in a shell, a file or an address. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace infold::keys {

std::string base64_of(std::string_view bytes);
// Strict: each sequence of bytes has one text. Returns nothing for any other text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace infold::keys
