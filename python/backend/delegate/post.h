// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives the pieces of a group's messages through the delegate. All messages of the
// group share this object and keep it alive.
//
// Any thread may call any method.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "base/mutex.h"
#include "python/backend/delegate/messages.h"
#include "python/backend/delegate/watch.h"
#include "python/backend/interpreter.h"

namespace infold::pytorch {

// Describes a message, or what its receiver expects.
struct MessageHeader {
  static constexpr std::uint64_t kMagic = 0x696e666f6c64206dULL;
  // A tebibyte. A rank does not make room for more, whatever another rank sends.
  static constexpr std::int64_t kPiecesMax = 1 << 22;

  std::uint64_t magic = 0;
  std::int64_t elements = 0;
  std::int64_t type = 0;
  std::int64_t pieces = 0;  // pieces that the message has, or for which there is room

  static MessageHeader of(const at::Tensor& tensor);
  static MessageHeader at(const at::Tensor& bytes);
  bool is_message() const { return magic == kMagic && pieces >= 1 && pieces <= kPiecesMax; }
  // The fields that differ, such as "size and type", or null.
  static const char* difference(const MessageHeader& a, const MessageHeader& b);
  std::string text() const;
};

// Each tag of a message becomes one tag of the delegate for each channel, so that channels never
// mix.
enum class Channel : std::uint8_t { head, rest, answer, nobody, kChannels };

class Post {
 public:
  using Works = c10::intrusive_ptr<::c10d::Work>;

  Post(c10::intrusive_ptr<::c10d::Backend> delegate, std::shared_ptr<Watch> watch, int rank)
      : delegate_(std::move(delegate)), watch_(std::move(watch)), rank_(rank) {}
  ~Post() { released_ = release_interpreter(); }
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  int rank() const { return rank_; }
  Watch& watch() const { return *watch_; }
  std::chrono::milliseconds timeout() const { return delegate_->getBackendOptions()->timeout; }

  // Throws for a rank or a tag that is not possible. The message names the call.
  void check(Correspondent other, const std::string& call) const;
  // These throw the delegate's exception if the connection to the other rank is closed.
  Works send(at::Tensor piece, Channel channel, Correspondent to) const;
  Works receive(at::Tensor piece, Channel channel, Correspondent from) const;

  // While this lock is held, no other message posts its pieces.
  base::Mutex& order() RETURN_CAPABILITY(order_) { return order_; }
  // Keeps a work that nobody waits for. The delegate may use its memory until the group ends.
  void keep(Works work);

  // Receives from any rank take turns, because the delegate gives the first message with a tag to
  // the first receive.
  using Turn = std::shared_future<void>;
  Turn exchange_last_turn(int tag, Turn turn);

 private:
  Released released_;  // used in destruction, as in Backend
  const c10::intrusive_ptr<::c10d::Backend> delegate_;
  const std::shared_ptr<Watch> watch_;
  const int rank_;
  base::Mutex order_;  // orders the pieces at the delegate, and guards no data here
  base::Mutex mutex_;
  std::vector<Works> kept_ GUARDED_BY(mutex_);
  std::map<int, Turn> last_turns_ GUARDED_BY(mutex_);
};

// A message travels in pieces of equal size, of which only the last may be shorter.
std::int64_t message_bytes(const at::Tensor& tensor);
std::int64_t piece_count(std::int64_t bytes);
at::Tensor room_for(std::int64_t pieces);
std::vector<at::Tensor> pieces_of(const at::Tensor& room);

}  // namespace infold::pytorch
