// SPDX-License-Identifier: Apache-2.0
//
// One end of a join connection, without the connection: bytes and times go in, bytes, a deadline
// and a wish come out. A ConnectionLoop gives it a socket; a test or a simulator gives it anything.
//
// One thread calls it. Other threads may have more for it to say, and then call the waker that it
// got, after which the loop looks at its output, its deadline and its wish again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/instant.h"

namespace infold::join {

class Conversation {
 public:
  enum class Wish : std::uint8_t {
    talk,
    finish,  // ends its direction once all output is sent, and itself once the other end's has
             // ended
    close,   // ends at once
  };
  // Any thread may call a waker, even after the conversation has ended.
  using Waker = std::function<void()>;

  virtual ~Conversation() = default;

  // begin() is the first call, and closed() the last one.
  virtual void begin(Waker waker, base::Instant now) = 0;
  virtual void closed() = 0;

  // Returns how many bytes it takes now. If it takes none, the loop asks again soon.
  virtual std::size_t room(base::Instant now) = 0;
  virtual void receive(std::string_view bytes, base::Instant now) = 0;
  // Hears of bytes that came around those of receive(), such as TLS needs. They count against
  // room(), but do not show that the other end lives.
  virtual void note_overhead(std::size_t, base::Instant) {}
  // No more bytes come. `why` is empty if the other end has ended its direction in order. Else it
  // is the system's reason why the connection broke, and no more bytes are sent either. The
  // conversation goes on until it wishes to end.
  virtual void hear_end(const std::string& why) = 0;

  // Returns what to send next, or nothing. That stays valid until sent() takes bytes off its front.
  virtual std::string_view output(base::Instant now) = 0;
  virtual void sent(std::size_t bytes, base::Instant now) = 0;

  virtual base::Instant deadline() = 0;
  virtual void pass(base::Instant now) = 0;  // called when the deadline has come
  virtual Wish wish() = 0;
};

}  // namespace infold::join
