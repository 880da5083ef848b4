// SPDX-License-Identifier: Apache-2.0
//
// Refuses ranks of earlier versions of infold, which join by a gRPC call over HTTP/2 (RFC 9113).
// This is just enough of HTTP/2 to let that call fail with a sentence. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace infold::join {

// The first bytes of any connection of HTTP/2, read as a length of ours.
inline constexpr std::uint32_t kHttp2Length = 0x50524920;  // "PRI "

// Returns what a server sends first.
std::string http2_settings();
// Says whether a client has opened a call with these bytes, which are all that it has sent.
bool http2_has_call(std::string_view bytes);
// Returns the end of that call. `why` has 1 to 253 characters of ASCII, none of them `%`.
std::string http2_refusal(std::string_view why);

}  // namespace infold::join
