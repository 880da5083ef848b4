// SPDX-License-Identifier: Apache-2.0
#include "io/page/http_request.h"

#include <string>

#include <gtest/gtest.h>

namespace infold::io {
namespace {

std::optional<HttpStatus> judged(std::string_view received) {
  return judge_request(received, "/metrics");
}

TEST(HttpRequest, IsJudgedByItsFirstLine) {
  const auto with = [](std::string line) { return judged(line + "\r\nHost: a\r\n\r\n"); };
  EXPECT_EQ(with("GET /metrics HTTP/1.1"), HttpStatus::ok);
  EXPECT_EQ(with("GET /metrics HTTP/1.0"), HttpStatus::ok);
  EXPECT_EQ(with("GET /metrics?name[]=infold_slots HTTP/1.1"), HttpStatus::ok);
  EXPECT_EQ(with("GET / HTTP/1.1"), HttpStatus::not_found);
  EXPECT_EQ(with("GET /metrics/ HTTP/1.1"), HttpStatus::not_found);
  EXPECT_EQ(with("GET /metric HTTP/1.1"), HttpStatus::not_found);
  EXPECT_EQ(with("POST /metrics HTTP/1.1"), HttpStatus::method_not_allowed);
  EXPECT_EQ(with("HEAD /metrics HTTP/1.1"), HttpStatus::method_not_allowed);
  EXPECT_EQ(with("get /metrics HTTP/1.1"), HttpStatus::method_not_allowed);
  EXPECT_EQ(with("GET /metrics HTTP/2"), HttpStatus::bad_request);
  EXPECT_EQ(with("GET /metrics"), HttpStatus::bad_request);
  EXPECT_EQ(with("GET  HTTP/1.1"), HttpStatus::not_found);  // an empty path
  EXPECT_EQ(with("GET"), HttpStatus::bad_request);
  EXPECT_EQ(with(""), HttpStatus::bad_request);
  EXPECT_EQ(with(std::string("\0\xff", 2)), HttpStatus::bad_request);
}

TEST(HttpRequest, WaitsForItsEnd) {
  const std::string whole = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(judged(whole.substr(0, bytes)), std::nullopt) << bytes;
  }
  EXPECT_EQ(judged(whole), HttpStatus::ok);
  EXPECT_EQ(judged(whole + "and more"), HttpStatus::ok);
}

TEST(HttpRequest, IsBoundedWhetherItEndsOrNot) {
  const std::string start = "GET /metrics HTTP/1.1\r\nA: ";
  EXPECT_EQ(judged(start + std::string(kRequestBytesMax - start.size(), 'a')), std::nullopt);
  const std::string longer = start + std::string(kRequestBytesMax - start.size() + 1, 'a');
  EXPECT_EQ(judged(longer), HttpStatus::too_large);
  EXPECT_EQ(judged(longer + "\r\n\r\n"), HttpStatus::too_large);
}

TEST(HttpAnswer, EndsWithItsBytes) {
  EXPECT_EQ(http_answer(HttpStatus::ok, "text/a", "page\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/a\r\nContent-Length: 5\r\n"
            "Connection: close\r\n\r\npage\n");
  EXPECT_EQ(http_answer(HttpStatus::method_not_allowed, "text/a", "page\n"),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
            "Allow: GET\r\nConnection: close\r\n\r\n405 Method Not Allowed");
}

}  // namespace
}  // namespace infold::io
