// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/post.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace infold::pytorch {
namespace {

// A receiver makes room for whole pieces. Larger pieces would waste memory for short messages, and
// smaller pieces would take more time for long ones.
constexpr std::int64_t kMessagePieceBytes = 256 << 10;

constexpr int kTagMax = INT32_MAX / static_cast<int>(Channel::kChannels);

int delegates_tag(Channel channel, Correspondent other) {
  return other.tag * static_cast<int>(Channel::kChannels) + static_cast<int>(channel);
}

}  // namespace

static_assert(kTagOfNobody == static_cast<int>(Channel::nobody));

std::string Correspondent::text() const {
  return (rank < 0 ? std::string("any rank") : "rank " + std::to_string(rank)) + ", tag " +
         std::to_string(tag);
}

std::int64_t message_bytes(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(sizeof(MessageHeader) + tensor.nbytes());
}

std::int64_t piece_count(std::int64_t bytes) {
  return (bytes + kMessagePieceBytes - 1) / kMessagePieceBytes;
}

at::Tensor room_for(std::int64_t pieces) {
  return at::empty({pieces * kMessagePieceBytes}, at::kByte);
}

std::vector<at::Tensor> pieces_of(const at::Tensor& room) {
  std::vector<at::Tensor> pieces;
  for (std::int64_t at = 0; at < room.numel(); at += kMessagePieceBytes) {
    pieces.push_back(room.narrow(0, at, std::min(kMessagePieceBytes, room.numel() - at)));
  }
  return pieces;
}

MessageHeader MessageHeader::of(const at::Tensor& tensor) {
  return {kMagic, tensor.numel(), static_cast<std::int64_t>(tensor.scalar_type()),
          piece_count(message_bytes(tensor))};
}

MessageHeader MessageHeader::at(const at::Tensor& bytes) {
  MessageHeader header;
  std::memcpy(&header, bytes.const_data_ptr(), sizeof(header));
  return header;
}

const char* MessageHeader::difference(const MessageHeader& a, const MessageHeader& b) {
  if (a.elements == b.elements) return a.type == b.type ? nullptr : "type";
  return a.type == b.type ? "size" : "size and type";
}

std::string MessageHeader::text() const {
  return std::to_string(elements) + " elements of " +
         c10::toString(static_cast<at::ScalarType>(type));
}

void Post::check(Correspondent other, const std::string& call) const {
  TORCH_CHECK(other.rank < delegate_->getSize() && other.rank != rank_, "infold: ", call,
              ": the other rank must be one of 0 to ", delegate_->getSize() - 1, ", and not this");
  TORCH_CHECK(other.tag >= 0 && other.tag <= kTagMax, "infold: ", call,
              ": the tag must be in 0 to ", kTagMax);
}

Post::Works Post::send(at::Tensor piece, Channel channel, Correspondent to) const {
  std::vector<at::Tensor> tensors = {std::move(piece)};
  return delegate_->send(tensors, to.rank, delegates_tag(channel, to));
}

Post::Works Post::receive(at::Tensor piece, Channel channel, Correspondent from) const {
  std::vector<at::Tensor> tensors = {std::move(piece)};
  const int tag = delegates_tag(channel, from);
  return from.rank < 0 ? delegate_->recvAnysource(tensors, tag)
                       : delegate_->recv(tensors, from.rank, tag);
}

void Post::keep(Works work) {
  const base::MutexLock lock(mutex_);
  kept_.push_back(std::move(work));
}

Post::Turn Post::exchange_last_turn(int tag, Turn turn) {
  const base::MutexLock lock(mutex_);
  return std::exchange(last_turns_[tag], std::move(turn));
}

}  // namespace infold::pytorch
