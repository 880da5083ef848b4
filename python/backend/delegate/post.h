// SPDX-License-Identifier: Apache-2.0
//
// What messages of a group are made of: pieces on their way between two ranks, by the delegate.
// Shared by the group's messages, and lives as long as any of them.
//
// Any thread may call anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "python/backend/delegate/messages.h"
#include "python/backend/delegate/watch.h"
#include "python/backend/interpreter.h"

namespace infold::pytorch {

// What a message is, or what its receiver expects.
struct MessageHeader {
  static constexpr std::uint64_t kMagic = 0x696e666f6c64206dULL;
  // A tebibyte: nobody makes room for more because another rank says so.
  static constexpr std::int64_t kPiecesMax = 1 << 22;

  std::uint64_t magic = 0;
  std::int64_t elements = 0;
  std::int64_t type = 0;
  std::int64_t pieces = 0;  // that there are, or room for

  static MessageHeader of(const at::Tensor& tensor);
  static MessageHeader at(const at::Tensor& bytes);
  bool is_message() const { return magic == kMagic && pieces >= 1 && pieces <= kPiecesMax; }
  // Which fields do not agree, "size and type", or null.
  static const char* difference(const MessageHeader& a, const MessageHeader& b);
  std::string text() const;
};

// The delegate's tags for each of a message's. What is on one does not mix with what is on another.
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

  // Throws for what no rank could be, naming the call.
  void check(Correspondent other, const std::string& call) const;
  // Throw in the delegate's words where the other rank's connection is closed.
  Works send(at::Tensor piece, Channel channel, Correspondent to) const;
  Works receive(at::Tensor piece, Channel channel, Correspondent from) const;

  // While it lives no other message's pieces are posted.
  std::unique_lock<std::mutex> order() { return std::unique_lock(order_); }
  // Works that nobody waits for any more, whose memory the delegate may still use: to the end.
  void keep(Works work);

  // Receives from anybody take turns: the delegate gives what comes first to the first of a tag.
  using Turn = std::shared_future<void>;
  Turn exchange_last_turn(int tag, Turn turn);

 private:
  Released released_;  // as the backend's
  const c10::intrusive_ptr<::c10d::Backend> delegate_;
  const std::shared_ptr<Watch> watch_;
  const int rank_;
  std::mutex order_;
  std::mutex mutex_;  // of what follows
  std::vector<Works> kept_;
  std::map<int, Turn> last_turns_;
};

// Where a message of so many bytes travels: as many pieces as it takes, the last one whole or not.
std::int64_t message_bytes(const at::Tensor& tensor);
std::int64_t piece_count(std::int64_t bytes);
at::Tensor room_for(std::int64_t pieces);
std::vector<at::Tensor> pieces_of(const at::Tensor& room);

}  // namespace infold::pytorch
