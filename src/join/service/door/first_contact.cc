// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/first_contact.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "join/connection/http2_refusal.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join {
namespace {

// A client of HTTP/2 says less than this before its call, unless it wants something else.
constexpr std::size_t kHttp2BytesMax = 4096;
// A rank sends one keepalive at most before its Hello. Without a limit, a connection could send
// them as fast as its link allows.
constexpr int kKeepalivesMax = 16;
constexpr std::string_view kOldRank =
    "this rank joins over gRPC, as earlier versions of infold did; install the version of infold "
    "that the switch has";

}  // namespace

FirstContact::FirstContact() : reader_(kRequestBytesMax) {}

FirstContact::Step FirstContact::receive(std::string_view& bytes) {
  if (http2_) return receive_http2(bytes);
  for (;;) {
    const FrameReader::Frame frame = reader_.next(bytes);
    if (!frame && frame.error().length == kHttp2Length) {
      http2_ = "PRI ";
      output_ += http2_settings();
      return receive_http2(bytes);
    }
    if (!frame) return refuse(no_message(frame.error().length));
    if (!*frame) return Step::listens;
    if ((*frame)->empty()) {
      if (++keepalives_ > kKeepalivesMax) return refuse("too many keepalives before the Hello");
      output_ = keepalive();
      continue;
    }
    if (!read_message(**frame, hello_) || !hello_.has_hello())
      return refuse("the first message is not a Hello");
    return Step::has_hello;
  }
}

FirstContact::Step FirstContact::receive_http2(std::string_view& bytes) {
  const std::size_t room = kHttp2BytesMax - http2_->size();
  http2_->append(bytes.substr(0, room));
  bytes.remove_prefix(std::min(room, bytes.size()));
  if (!http2_has_call(*http2_) && http2_->size() < kHttp2BytesMax) return Step::listens;
  reason_ = kOldRank;
  output_ += http2_refusal(kOldRank);
  return Step::is_refused;
}

FirstContact::Step FirstContact::refuse(std::string why) {
  output_ += frame_of(reply_of(Refusal{RefusalReason::invalid, why, -1}));
  reason_ = std::move(why);
  return Step::is_refused;
}

std::string FirstContact::take_output() { return std::exchange(output_, {}); }

std::string no_message(std::uint32_t length) {
  return fmt::format("a message of {} bytes was announced, but {} are allowed", length,
                     kRequestBytesMax);
}

}  // namespace infold::join
