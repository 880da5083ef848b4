// SPDX-License-Identifier: Apache-2.0
//
// As much of HTTP/1.1 as it takes to hand out one page: who asks for it in one short request gets
// it, and every connection ends with its answer. Pure functions; io/page/page_server.h has the
// sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::io {

// Ten times what Prometheus sends.
inline constexpr std::size_t kRequestBytesMax = 4096;

enum class HttpStatus : std::uint16_t {
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  too_large = 431,
};

// What a request for the page at `path` deserves, of which this has come so far; nothing as long as
// it has not ended and may still be one.
std::optional<HttpStatus> judge_request(std::string_view received, std::string_view path);

// A whole answer. A page of any other status than ok says what is wrong.
std::string http_answer(HttpStatus status, std::string_view content_type, std::string_view page);

}  // namespace infold::io
