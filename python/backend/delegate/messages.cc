// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/messages.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "io/host/own_process.h"
#include "python/backend/delegate/post.h"
#include "python/backend/forked.h"
#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;
using Works = Messages::Works;

constexpr auto kForever = std::chrono::hours(24 * 365);
constexpr std::int64_t kHeaderBytes = sizeof(MessageHeader);

at::Tensor bytes_of(const MessageHeader& header) {
  at::Tensor bytes = at::empty({kHeaderBytes}, at::kByte);
  std::memcpy(bytes.data_ptr(), &header, sizeof(header));
  return bytes;
}

std::string name_of(OpType type, Correspondent other) {
  return (type == OpType::SEND ? "send to " : "recv from ") + other.text();
}

// Rethrows the failure with the job's explanation.
[[noreturn]] void throw_explained(const Post& post, OpType type, Correspondent other) {
  const std::string who = other.rank < 0 ? "the other ranks run and one"
                                         : "rank " + std::to_string(other.rank) + " runs and";
  std::rethrow_exception(post.watch().explain(
      name_of(type, other), std::current_exception(),
      "check that " + who + (type == OpType::SEND ? " receives it" : " sends it")));
}

// A message, whose pieces are works of the delegate. Unlike the delegate's works, it may be waited
// for more than once.
class MessageWork : public ::c10d::Work {
 public:
  MessageWork(std::shared_ptr<Post> post, OpType type, Correspondent other)
      : ::c10d::Work(post->rank(), type),
        post_(std::move(post)),
        other_(other),
        watched_(post_->watch().hold()) {}

  bool wait(std::chrono::milliseconds timeout) final {
    refuse_child(process_);
    const base::MutexLock only(waiting_);
    if (!isCompleted()) {
      std::exception_ptr failure;
      try {
        if (timeout != kNoTimeout) end_ = std::chrono::steady_clock::now() + timeout;
        complete();
      } catch (...) {
        failure = std::current_exception();
      }
      watched_.reset();
      finish(failure);
    }
    if (const std::exception_ptr failure = exception()) std::rethrow_exception(failure);
    return true;
  }

  void abort() override {
    if (process_.is_current()) post_->watch().abort("a message was aborted");
  }

 protected:
  virtual void complete() = 0;

  void wait_for(const Works& piece) const {
    try {
      const auto left = end_ ? left_until(*end_) : kNoTimeout;
      if (!piece->wait(left)) throw std::runtime_error("the message was aborted");
    } catch (...) {
      throw_explained(*post_, opType_, other_);
    }
  }

  void wait_for(const std::vector<Works>& pieces) const {
    for (const Works& piece : pieces) wait_for(piece);
  }

  void keep(const std::vector<Works>& pieces) const {
    for (const Works& piece : pieces) post_->keep(piece);
  }

  // Posts the pieces that the other end has posted and this end has not, so that the pieces of the
  // next message are paired correctly.
  void make_up(const std::function<void()>& post_more) const {
    const base::MutexLock order(post_->order());
    try {
      post_more();
    } catch (const std::exception&) {
      // The next message fails by itself and reports it.
    }
  }

  const io::OwnProcess process_;
  const std::shared_ptr<Post> post_;
  Correspondent other_;
  std::optional<Time> end_;  // when the current wait ends, if it has a limit

 private:
  base::Mutex waiting_;  // its holder completes the message
  Watch::Token watched_ GUARDED_BY(waiting_);
};

// Both ends raise this message.
[[noreturn]] void fail_as_different(const char* call, int sender, const MessageHeader& sent,
                                    int receiver, const MessageHeader& expected) {
  C10_THROW_ERROR(DistBackendError,
                  c10::str("infold: ", call, ": rank ", sender, " sent ", sent.text(), ", rank ",
                           receiver, " expects ", expected.text(), "; both must pass the same ",
                           MessageHeader::difference(sent, expected), "; the group goes on"));
}

[[noreturn]] void fail_as_foreign(const char* call, const Correspondent& other) {
  C10_THROW_ERROR(DistBackendError,
                  c10::str("infold: ", call, ": what came from ", other.text(),
                           " belongs to another call; both ranks must wait for each message"));
}

class SentMessage final : public MessageWork {
 public:
  SentMessage(const std::shared_ptr<Post>& post, const at::Tensor& tensor, Correspondent to)
      : MessageWork(post, OpType::SEND, to), sent_(MessageHeader::of(tensor)) {
    const at::Tensor room = at::empty({message_bytes(tensor)}, at::kByte);
    auto* const bytes = static_cast<std::byte*>(room.data_ptr());
    std::memcpy(bytes, &sent_, sizeof(sent_));
    if (tensor.nbytes() > 0) {
      std::memcpy(bytes + sizeof(sent_), tensor.const_data_ptr(), tensor.nbytes());
    }
    for (const at::Tensor& piece : pieces_of(room)) {
      const Channel channel = pieces_.empty() ? Channel::head : Channel::rest;
      pieces_.push_back(post->send(piece, channel, to));
    }
    answer_ = post->receive(expected_, Channel::answer, to);
  }

  // Keeps the answer's work, because the answer comes even if nobody waits for this message.
  ~SentMessage() override {
    if (!process_.is_current()) {
      keep_for_ever(std::move(pieces_));
      keep_for_ever(std::move(answer_));
    } else if (!isCompleted()) {
      post_->keep(answer_);
    }
  }

 private:
  void complete() override {
    wait_for(answer_);
    const MessageHeader expected = MessageHeader::at(expected_);
    if (!expected.is_message()) fail_as_foreign("send", other_);
    if (MessageHeader::difference(sent_, expected) == nullptr) return wait_for(pieces_);
    keep(pieces_);
    make_up([&] {
      for (std::int64_t count = sent_.pieces; count < expected.pieces; ++count) {
        post_->keep(post_->send(bytes_of({}), Channel::rest, other_));
      }
    });
    fail_as_different("send", rank_, sent_, other_.rank, expected);
  }

  const MessageHeader sent_;
  const at::Tensor expected_ = bytes_of({});
  std::vector<Works> pieces_;
  Works answer_;
};

class ReceivedMessage : public MessageWork {
 public:
  ReceivedMessage(const std::shared_ptr<Post>& post, at::Tensor to, Correspondent from)
      : MessageWork(post, OpType::RECV, from),
        expected_(MessageHeader::of(to)),
        to_(std::move(to)),
        room_(room_for(expected_.pieces)),
        places_(pieces_of(room_)),
        first_(post->receive(places_.front(), Channel::head, from)) {}

  int sourceRank() const override { return other_.rank; }
  std::vector<at::Tensor> result() override { return {to_}; }

 protected:
  // Makes room for the pieces after the head, and sends the answer.
  void post_rest(std::int64_t room_pieces) {
    for (std::size_t i = 1; i < places_.size(); ++i) post_more(places_[i]);
    for (auto i = static_cast<std::int64_t>(places_.size()); i < room_pieces; ++i) {
      post_more(room_for(1));
    }
    MessageHeader answer = expected_;
    answer.pieces = static_cast<std::int64_t>(rest_.size()) + 1;
    answer_ = post_->send(bytes_of(answer), Channel::answer, other_);
  }

  // Requires: the head has arrived.
  void complete_rest() {
    const MessageHeader sent = MessageHeader::at(room_);
    if (!sent.is_message()) fail_as_foreign("recv", other_);
    if (MessageHeader::difference(sent, expected_) != nullptr) {
      make_up([&] {
        while (static_cast<std::int64_t>(rest_.size()) + 1 < sent.pieces) post_more(room_for(1));
      });
      keep(rest_);
      post_->keep(answer_);
      fail_as_different("recv", other_.rank, sent, rank_, expected_);
    }
    wait_for(rest_);
    wait_for(answer_);
    if (to_.nbytes() == 0) return;
    std::memcpy(to_.data_ptr(),
                static_cast<const std::byte*>(room_.const_data_ptr()) + kHeaderBytes, to_.nbytes());
  }

  // Destructors call this. The answer goes out even if nobody waits for this message.
  void keep_answer() {
    if (!process_.is_current()) {
      keep_for_ever(first_);
      keep_for_ever(std::move(rest_));
      keep_for_ever(std::move(answer_));
    } else if (!isCompleted() && answer_) {
      post_->keep(answer_);
    }
  }

  const MessageHeader expected_;
  const at::Tensor to_;
  const at::Tensor room_;
  const std::vector<at::Tensor> places_;
  const Works first_;

 private:
  void post_more(const at::Tensor& place) {
    rest_.push_back(post_->receive(place, Channel::rest, other_));
  }

  std::vector<Works> rest_;
  Works answer_;
};

class MessageFromOne final : public ReceivedMessage {
 public:
  MessageFromOne(const std::shared_ptr<Post>& post, const at::Tensor& to, Correspondent from)
      : ReceivedMessage(post, to, from) {
    post_rest(expected_.pieces);
  }
  ~MessageFromOne() override { keep_answer(); }

 private:
  void complete() override {
    wait_for(first_);
    complete_rest();
  }
};

// The sender is unknown until the head arrives, and it needs an answer even if nobody waits here. A
// thread therefore waits for the head.
class MessageFromAny final : public ReceivedMessage {
 public:
  MessageFromAny(const std::shared_ptr<Post>& post, const at::Tensor& to, Correspondent from)
      : ReceivedMessage(post, to, from),
        broken_(post->watch().when_broken([first = first_] { first->abort(); })) {
    const Post::Turn before = post->exchange_last_turn(from.tag, done_.get_future().share());
    thread_ = std::thread([this, before] { meet_sender(before); });
    pthread_setname_np(thread_.native_handle(), "infold-anyone");
  }

  ~MessageFromAny() override {
    if (!process_.is_current()) {
      keep_answer();
      keep_for_ever(std::move(thread_));
      return;
    }
    first_->abort();
    const Released released = release_interpreter();
    thread_.join();
    if (!isCompleted()) post_->keep(first_);
    keep_answer();
  }

 private:
  void meet_sender(const Post::Turn& before) {
    std::exception_ptr failure;
    try {
      if (!first_->wait(kForever)) throw std::runtime_error("the message was aborted");
      // The head of a later receive may have been found first.
      if (before.valid()) before.wait();
      const base::MutexLock order(post_->order());
      other_.rank = first_->sourceRank();
      const MessageHeader sent = MessageHeader::at(room_);
      if (sent.is_message()) post_rest(sent.pieces);
    } catch (...) {
      failure = std::current_exception();
    }
    done_.set_value();
    const std::lock_guard lock(mutex_);
    has_met_ = true;
    failure_ = failure;
    cv_.notify_all();
  }

  void complete() override {
    const Time limit = end_.value_or(std::chrono::steady_clock::now() + post_->timeout());
    std::unique_lock lock(mutex_);
    const auto has_met = [this] { return has_met_; };
    const bool in_time = cv_.wait_until(lock, limit, has_met);
    if (!in_time) {
      first_->abort();
      cv_.wait(lock, has_met);
    }
    const std::exception_ptr failure = failure_;
    lock.unlock();
    try {
      if (failure && !in_time) throw std::runtime_error("Timed out waiting for a message");
      if (failure) std::rethrow_exception(failure);
    } catch (...) {
      throw_explained(*post_, opType_, other_);
    }
    complete_rest();
  }

  std::promise<void> done_;
  // mutex_ guards these two. It is torch's std::mutex, which clang cannot check.
  bool has_met_ = false;
  std::exception_ptr failure_;
  Watch::Token broken_;
  std::thread thread_;
};

template <typename Message>
Works begin(const std::shared_ptr<Post>& post, OpType type, const at::Tensor& tensor,
            Correspondent other) {
  post->check(other, name_of(type, other));
  try {
    const base::MutexLock order(post->order());
    return c10::make_intrusive<Message>(post, tensor, other);
  } catch (const std::exception&) {
    throw_explained(*post, type, other);
  }
}

}  // namespace

Messages::Messages(c10::intrusive_ptr<::c10d::Backend> delegate, std::shared_ptr<Watch> watch,
                   int rank)
    : post_(std::make_shared<Post>(std::move(delegate), std::move(watch), rank)) {}

Works Messages::send(const at::Tensor& tensor, Correspondent to) {
  return begin<SentMessage>(post_, OpType::SEND, tensor, to);
}

Works Messages::receive(const at::Tensor& tensor, Correspondent from) {
  return from.rank < 0 ? begin<MessageFromAny>(post_, OpType::RECV, tensor, from)
                       : begin<MessageFromOne>(post_, OpType::RECV, tensor, from);
}

}  // namespace infold::pytorch
