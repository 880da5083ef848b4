// SPDX-License-Identifier: Apache-2.0
//
// Reads the first bytes of a connection, up to the Hello of a rank, and answers anything else with
// a refusal.
//
// Pure; one thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "join/connection/frames.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

class FirstContact {
 public:
  FirstContact();

  enum class Step : std::uint8_t { listens, has_hello, is_refused };
  // Takes bytes off the front of `bytes`, at most up to the end of the Hello.
  Step receive(std::string_view& bytes);

  // Returns what to send now, once.
  std::string take_output();
  v1::JoinRequest& hello() { return hello_; }  // valid once it has come
  // Says to a person why the connection is refused.
  const std::string& reason() const { return reason_; }

 private:
  Step refuse(std::string why);
  Step receive_http2(std::string_view& bytes);

  FrameReader reader_;
  v1::JoinRequest hello_;
  std::string output_;
  std::string reason_;
  int keepalives_ = 0;
  std::optional<std::string> http2_;  // the bytes so far, if they come from an HTTP/2 client
};

// Says why a message of this length is refused.
std::string no_message(std::uint32_t length);

}  // namespace infold::join
