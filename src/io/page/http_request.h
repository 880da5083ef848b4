// SPDX-License-Identifier: Apache-2.0
//
// The small part of HTTP/1.1 that is needed to serve one page. A client sends one short request,
// and the connection ends with the answer. These are pure functions; io/page/page_server.h owns the
// sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::io {

// Ten times the length of a request from Prometheus.
inline constexpr std::size_t kRequestBytesMax = 4096;

enum class HttpStatus : std::uint16_t {
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  too_large = 431,
};

// Judges a request for the page at `path` by the part of it that has arrived. Returns nothing while
// the request is incomplete and may still turn out valid.
std::optional<HttpStatus> judge_request(std::string_view received, std::string_view path);

// Returns the whole response. If the status is not ok, the body names the status instead of holding
// `page`.
std::string http_answer(HttpStatus status, std::string_view content_type, std::string_view page);

}  // namespace infold::io
