// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch holds of one collective: its calls on a communicator, and what has to happen to
// tensors before and after them. The first thread that finds the calls ended does what comes after;
// tensors are kept until then. Callbacks of its future run on threads of their own (completions.h).
//
// Any thread may call any method but start() and fail(), which GroupJob calls.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <c10/core/Event.h>
#include <infold/communicator.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "python/backend/completions.h"
#include "python/backend/staging.h"

namespace infold::pytorch {

class GroupJob;
class Work;

using Time = std::chrono::steady_clock::time_point;

// One call, as a rule; tensors on a device travel in several.
struct Step {
  std::function<void()> before;  // until the input is in place; may be empty
  std::function<Handle(Communicator&)> call;
  std::function<void()> after;  // once the result is; may be empty
};

// How one collective is done.
struct Recipe {
  ::c10d::OpType type = ::c10d::OpType::UNKNOWN;
  const char* title = "";               // in PyTorch's profiler
  std::vector<at::Tensor> inputs = {};  // kept until the end
  std::vector<at::Tensor> outputs = {};
  // The same as a collective of lists has them, for its future; empty elsewhere.
  std::vector<std::vector<at::Tensor>> output_lists = {};
  std::vector<Step> steps = {};
  std::function<void()> alone = {};       // instead of the steps, in a group of one
  std::shared_ptr<Staging> staging = {};  // of tensors on a device
  // From the call on, until it has failed for good; the group's if it is not positive.
  std::chrono::milliseconds timeout = kNoTimeout;
  // Works that have to end first, in their effects on devices too; those of the delegate as well.
  std::vector<c10::intrusive_ptr<Work>> predecessors = {};
  std::vector<c10::intrusive_ptr<::c10d::Work>> delegated = {};

  // Whether starting it blocks, so that it is not for the caller's thread.
  bool blocks() const;
};

class Work final : public ::c10d::Work {
 public:
  Work(int rank, std::uint64_t sequence, Recipe recipe, std::weak_ptr<GroupJob> job,
       std::shared_ptr<Completions> completions);
  ~Work() override;

  // Begins the calls; once. False if it could not, and ends with that.
  bool start(Communicator& communicator);
  // Ends it without any; no effect on one that has ended.
  void fail(const std::exception_ptr& reason);
  // Blocks until the calls have ended, which their deadlines bound, and does what comes after them.
  void conclude();
  // The same, but for its future's completion, which take_completion() then gives to one caller.
  void conclude_calls();
  Completions::Completion take_completion();
  // Instead of start(), in a group of one.
  void run_alone();

  bool blocks() const { return recipe_.blocks(); }
  // Of its own, if it has one, which began with the call.
  std::optional<Time> end_of_time() const;
  // What it fails with where that time runs out and it has not begun.
  std::exception_ptr too_late() const { return too_late_after(recipe_.timeout); }
  // Without doing anything, unlike isCompleted().
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

  Recipe recipe_;
  const Time called_ = std::chrono::steady_clock::now();
  const std::uint64_t sequence_;
  const std::weak_ptr<GroupJob> job_;
  const std::shared_ptr<Completions> completions_;
  std::vector<Handle> handles_;  // set by start(), before is_started()

  std::mutex steps_mutex_;  // before mutex_, which is the base's
  std::size_t steps_done_ = 0;
  std::exception_ptr first_failure_;

  bool started_ = false;  // by mutex_, as the following
  std::vector<at::Tensor> outputs_;
  const std::vector<std::vector<at::Tensor>> output_lists_;
  std::shared_ptr<c10::Event> end_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  bool is_resolved_ = false;
};

// How it ended is for its own caller.
void wait_for_end(::c10d::Work& work);

// A millisecond at least: none stands for no limit.
std::chrono::milliseconds left_until(Time end);

// What PyTorch throws for a failure of communication.
std::exception_ptr exception_of(const Error& error);

}  // namespace infold::pytorch
