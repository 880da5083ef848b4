// SPDX-License-Identifier: Apache-2.0
#include "python/backend/messages.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;

// A receiver has room for whole pieces, and touches what comes of them. Large ones would waste
// memory on short messages, small ones time on long ones.
constexpr std::int64_t kMessagePieceBytes = 256 << 10;

struct Head {
  std::uint64_t magic = 0;
  std::int64_t elements = 0;
  std::int64_t type = 0;
  std::int64_t reserved = 0;
};
constexpr std::uint64_t kMagic = 0x696e666f6c64206dULL;

Head head_of(const at::Tensor& tensor) {
  return {kMagic, tensor.numel(), static_cast<std::int64_t>(tensor.scalar_type()), 0};
}

std::int64_t message_bytes(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(sizeof(Head)) + static_cast<std::int64_t>(tensor.nbytes());
}

std::vector<at::Tensor> pieces_of(const at::Tensor& room) {
  std::vector<at::Tensor> pieces;
  for (std::int64_t at = 0; at < room.numel(); at += kMessagePieceBytes) {
    pieces.push_back(room.narrow(0, at, std::min(kMessagePieceBytes, room.numel() - at)));
  }
  return pieces;
}

std::string text_of(const Head& head) {
  return std::to_string(head.elements) + " elements of " +
         c10::toString(static_cast<at::ScalarType>(head.type));
}

// Its pieces end one by one. Waiting twice is as good as once, which the delegate's do not know.
class MessageWork : public ::c10d::Work {
 public:
  MessageWork(int rank, OpType type, std::vector<Messages::Works> pieces)
      : ::c10d::Work(rank, type), pieces_(std::move(pieces)) {}

  bool wait(std::chrono::milliseconds timeout) final {
    const std::lock_guard only(waiting_);
    if (!isCompleted()) {
      std::exception_ptr failure;
      try {
        const auto end = std::chrono::steady_clock::now() + timeout;
        wait_for_all([&](::c10d::Work& piece) {
          piece.wait(timeout == kNoTimeout ? timeout : left_until(end));
        });
      } catch (...) {
        failure = std::current_exception();
      }
      finish(failure);
    }
    if (const std::exception_ptr failure = exception()) std::rethrow_exception(failure);
    return true;
  }

  void abort() final {
    for (const Messages::Works& piece : pieces_) piece->abort();
  }

 protected:
  using WaitFor = std::function<void(::c10d::Work&)>;
  virtual void wait_for_all(const WaitFor& wait_for) {
    for (const Messages::Works& piece : pieces_) wait_for(*piece);
  }

  const std::vector<Messages::Works> pieces_;

 private:
  std::mutex waiting_;
};

using ReceivePiece = std::function<Messages::Works(at::Tensor piece, int from)>;

class ReceivedMessage final : public MessageWork {
 public:
  // `from` may be -1 for anybody; then only the first piece is waited for yet.
  ReceivedMessage(int rank, int from, at::Tensor to, at::Tensor room, ReceivePiece receive)
      : MessageWork(rank, OpType::RECV, begin(from, room, receive)),
        from_(from),
        to_(std::move(to)),
        room_(std::move(room)),
        receive_(std::move(receive)) {}

  int sourceRank() const override { return from_; }
  std::vector<at::Tensor> result() override { return {to_}; }

 private:
  static std::vector<Messages::Works> begin(int from, const at::Tensor& room,
                                            const ReceivePiece& receive) {
    std::vector<Messages::Works> begun;
    for (const at::Tensor& piece : pieces_of(room)) {
      if (begun.empty() || from >= 0) begun.push_back(receive(piece, from));
    }
    return begun;
  }

  void wait_for_all(const WaitFor& wait_for) override {
    wait_for(*pieces_.front());
    const bool is_from_anybody = from_ < 0;
    if (is_from_anybody) from_ = pieces_.front()->sourceRank();
    check_head();
    std::vector<Messages::Works> rest(pieces_.begin() + 1, pieces_.end());
    if (is_from_anybody) {
      const std::vector<at::Tensor> places = pieces_of(room_);
      for (std::size_t i = 1; i < places.size(); ++i) rest.push_back(receive_(places[i], from_));
    }
    for (const Messages::Works& piece : rest) wait_for(*piece);
    std::memcpy(to_.data_ptr(), static_cast<const std::byte*>(room_.data_ptr()) + sizeof(Head),
                to_.nbytes());
  }

  void check_head() const {
    Head head;
    std::memcpy(&head, room_.data_ptr(), sizeof(head));
    const Head wanted = head_of(to_);
    if (std::memcmp(&head, &wanted, sizeof(head)) == 0) return;
    const std::string sent = head.magic == kMagic ? text_of(head) : "what belongs to another call";
    C10_THROW_ERROR(DistBackendError, c10::str("infold: recv: rank ", from_, " sent ", sent,
                                               ", rank ", rank_, " expects ", text_of(wanted),
                                               "; both must pass the same size and type"));
  }

  int from_;
  const at::Tensor to_;
  const at::Tensor room_;
  const ReceivePiece receive_;
};

}  // namespace

Messages::Works Messages::send(const at::Tensor& tensor, int to, int tag) {
  const at::Tensor room = at::empty({message_bytes(tensor)}, at::kByte);
  const Head head = head_of(tensor);
  auto* const bytes = static_cast<std::byte*>(room.data_ptr());
  std::memcpy(bytes, &head, sizeof(head));
  std::memcpy(bytes + sizeof(head), tensor.data_ptr(), tensor.nbytes());
  std::vector<Works> works;
  const std::lock_guard lock(order_);
  for (const at::Tensor& piece : pieces_of(room)) {
    std::vector<at::Tensor> tensors = {piece};
    works.push_back(delegate_->send(tensors, to, tag));
  }
  return c10::make_intrusive<MessageWork>(rank_, OpType::SEND, std::move(works));
}

Messages::Works Messages::receive(const at::Tensor& tensor, int from, int tag) {
  const std::int64_t pieces = (message_bytes(tensor) + kMessagePieceBytes - 1) / kMessagePieceBytes;
  const auto receive_piece = [delegate = delegate_, tag](at::Tensor piece, int of) {
    std::vector<at::Tensor> tensors = {std::move(piece)};
    return of < 0 ? delegate->recvAnysource(tensors, tag) : delegate->recv(tensors, of, tag);
  };
  const std::lock_guard lock(order_);
  return c10::make_intrusive<ReceivedMessage>(
      rank_, from, tensor, at::empty({pieces * kMessagePieceBytes}, at::kByte), receive_piece);
}

}  // namespace infold::pytorch
