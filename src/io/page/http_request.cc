// SPDX-License-Identifier: Apache-2.0
#include "io/page/http_request.h"

#include <algorithm>

namespace infold::io {
namespace {

constexpr std::string_view kEndOfRequest = "\r\n\r\n";

std::string_view reason_of(HttpStatus status) {
  switch (status) {
    case HttpStatus::ok: return "OK";
    case HttpStatus::bad_request: return "Bad Request";
    case HttpStatus::not_found: return "Not Found";
    case HttpStatus::method_not_allowed: return "Method Not Allowed";
    case HttpStatus::too_large: return "Request Header Fields Too Large";
  }
  return "";
}

}  // namespace

std::optional<HttpStatus> judge_request(std::string_view received, std::string_view path) {
  const std::size_t end = received.find(kEndOfRequest);
  if (std::min(end, received.size()) > kRequestBytesMax) return HttpStatus::too_large;
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = received.substr(0, received.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first ||
      !line.substr(last + 1).starts_with("HTTP/1.")) {
    return HttpStatus::bad_request;
  }
  if (line.substr(0, first) != "GET") return HttpStatus::method_not_allowed;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const bool is_ours = target.substr(0, target.find('?')) == path;
  return is_ours ? HttpStatus::ok : HttpStatus::not_found;
}

std::string http_answer(HttpStatus status, std::string_view content_type, std::string_view page) {
  const std::string code = std::to_string(static_cast<unsigned>(status));
  const std::string why = code + " " + std::string(reason_of(status));
  const bool has_page = status == HttpStatus::ok;
  const std::string_view body = has_page ? page : std::string_view(why);
  std::string answer = "HTTP/1.1 " + why + "\r\nContent-Type: ";
  answer += has_page ? content_type : "text/plain";
  answer += "\r\nContent-Length: " + std::to_string(body.size());
  if (status == HttpStatus::method_not_allowed) answer += "\r\nAllow: GET";
  answer += "\r\nConnection: close\r\n\r\n";
  answer += body;
  return answer;
}

}  // namespace infold::io
