// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's handle of one collective: the calls on a communicator, and the actions on tensors
// before and after them. The first thread that notices the end of the calls does the actions after
// them. The work keeps its tensors until then. Callbacks of its future run on other threads
// (completions.h).
//
// Any thread may call any method except start() and fail(), which GroupJob calls.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <c10/core/Event.h>
#include <infold/communicator.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "base/mutex.h"
#include "io/host/own_process.h"
#include "python/backend/completions.h"
#include "python/backend/recording/recorder.h"
#include "python/backend/staging.h"

namespace infold::pytorch {

class GroupJob;
class Work;

using Time = std::chrono::steady_clock::time_point;

// A recipe usually has one step. Tensors on a device travel in several.
struct Step {
  std::function<void()> before;  // waits until the input is in place; may be empty
  std::function<Handle(Communicator&)> call;
  std::function<void()> after;  // when the result is in place; may be empty
  // If set, used instead of `call`: several calls, each of which needs the result of the one
  // before. Blocks.
  std::function<Result<void>(Communicator&, const std::stop_token& stop)> calls = {};
};

// How one collective is done.
struct Recipe {
  ::c10d::OpType type = ::c10d::OpType::UNKNOWN;
  const char* title = "";               // shown in PyTorch's profiler
  std::vector<at::Tensor> inputs = {};  // kept until the end
  std::vector<at::Tensor> outputs = {};
  // The outputs of a collective of lists, for its future; empty otherwise.
  std::vector<std::vector<at::Tensor>> output_lists = {};
  std::vector<Step> steps = {};
  std::function<void()> alone = {};       // instead of the steps, in a group of one rank
  std::shared_ptr<Staging> staging = {};  // for tensors on a device
  // Counts from the call, which has failed for good once this time has passed. If it is not
  // positive, the group's timeout holds.
  std::chrono::milliseconds timeout = kNoTimeout;
  // The works that have to end first, including their effects on devices, and the delegate's works
  // that have to end first.
  std::vector<c10::intrusive_ptr<Work>> predecessors = {};
  std::vector<c10::intrusive_ptr<::c10d::Work>> delegated = {};
  int root = 0;                                 // for broadcast and reduce
  std::optional<Recorder::Note> recorded = {};  // set if the call is recorded

  // Whether starting blocks, so that the caller's thread must not start it.
  bool blocks() const;
};

class Work final : public ::c10d::Work {
 public:
  Work(int rank, std::uint64_t sequence, Recipe recipe, std::weak_ptr<GroupJob> job,
       std::shared_ptr<Completions> completions);
  ~Work() override;

  // Begins the calls; may be called once. If a call could not begin, the work ends with that
  // failure. Returns the reason if the other ranks wait for that call and nothing else tells them.
  std::optional<std::string> start(Communicator& communicator, const std::stop_token& stop);
  // Ends the work without calls, either with a failure or, if `reason` is null, in success. Has no
  // effect after the end.
  void fail(const std::exception_ptr& reason);
  // Blocks until the calls have ended, within their deadlines, and does the actions after them.
  void conclude();
  // Like conclude(), but leaves the future's completion to take_completion(), which gives it to one
  // caller.
  void conclude_calls();
  Completions::Completion take_completion();
  // Used instead of start() in a group of one rank.
  void run_alone();

  bool blocks() const { return recipe_.blocks(); }
  // When the call's own timeout ends, if it has one.
  std::optional<Time> end_of_time() const;
  // The failure if that timeout ends before the call has begun.
  std::exception_ptr too_late() const { return too_late_after(recipe_.timeout); }
  // Only checks, while isCompleted() also advances the work.
  bool has_ended() const;

  bool isCompleted() override;
  bool isSuccess() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void blockCurrentStream() override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return sequence_; }

 private:
  bool is_started() const;
  std::exception_ptr too_late_after(std::chrono::milliseconds timeout) const;
  std::optional<std::string> begin_steps(Communicator& communicator, const std::stop_token& stop);
  void wait_to_begin(std::chrono::milliseconds timeout, Time end);
  void advance();
  bool is_future_done() const;
  void attempt(const std::function<void()>& action);
  Recipe end_with(const std::exception_ptr& reason);
  std::shared_ptr<c10::Event> end() const;
  void wait_on_host();
  std::vector<c10::Device> devices() const;
  c10::IValue value() const;
  void resolve();

  const io::OwnProcess process_;
  Recipe recipe_;
  const Time called_ = std::chrono::steady_clock::now();
  const std::uint64_t sequence_;
  const std::weak_ptr<GroupJob> job_;
  const std::shared_ptr<Completions> completions_;
  std::vector<Handle> handles_;  // set by start(), before is_started()

  base::Mutex steps_mutex_;  // taken before mutex_
  std::size_t steps_done_ GUARDED_BY(steps_mutex_) = 0;
  std::exception_ptr first_failure_;  // start() sets it without the lock, before is_started()

  // mutex_ guards all members below. It is torch's std::mutex, which clang cannot check. end_ is
  // set before the work ends, and read after that.
  bool begins_ = false;
  bool started_ = false;
  std::vector<at::Tensor> outputs_;
  const std::vector<std::vector<at::Tensor>> output_lists_;
  std::shared_ptr<c10::Event> end_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  bool is_resolved_ = false;
};

// Waits, and ignores how the work ended, because the work's own caller learns that.
void wait_for_end(::c10d::Work& work);

// At least one millisecond, because zero would mean no limit.
std::chrono::milliseconds left_until(Time end);

// PyTorch's exception for a failure of communication.
std::exception_ptr exception_of(const Error& error);

}  // namespace infold::pytorch
