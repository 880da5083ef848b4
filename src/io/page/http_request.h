// SPDX-License-Identifier: Apache-2.0
//
// The part of HTTP/1.1 that serves one page. A client sends one short request, and the connection
// ends with the answer. Pure functions. io/page/page_server.h has the sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::io {

// Ten times as long as a request of Prometheus.
inline constexpr std::size_t kRequestBytesMax = 4096;

enum class HttpStatus : std::uint16_t {
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  too_large = 431,
};

// The status for what has arrived of a request for the page at `path`. Nothing while the request is
// incomplete and may still be valid.
std::optional<HttpStatus> judge_request(std::string_view received, std::string_view path);

// The whole response. If the status is not ok, its page says what is wrong.
std::string http_answer(HttpStatus status, std::string_view content_type, std::string_view page);

}  // namespace infold::io
