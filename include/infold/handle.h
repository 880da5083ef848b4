// SPDX-License-Identifier: Apache-2.0
//
// One call in flight. Its tensors belong to infold from the call until test() is true or a wait
// has returned something other than `pending`: do not change inputs, do not touch outputs, keep
// both alive. Outputs change only when the call has succeeded, all at once.
//
// Destroying a handle waits for the end of its call, at most until its deadline, so a tensor
// declared before its handle is always safe. Handles may outlive their communicator. Any thread
// may call any method, several at the same time; moving and destroying are for one thread.
#pragma once

#include <chrono>
#include <memory>

#include <infold/options.h>
#include <infold/result.h>

namespace infold {

namespace rank {
class Call;
}

class [[nodiscard]] Handle {
 public:
  // Stands for no call: done, and its waits fail with invalid_argument.
  Handle() = default;
  explicit Handle(std::shared_ptr<rank::Call> call);
  Handle(Handle&& other) noexcept = default;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle();

  // Blocks until the call has ended, which its deadline bounds. May be called again; the answer
  // stays the same.
  [[nodiscard]] Result<Completion> wait() const;

  // Blocks no longer than `timeout`. A call that is not done by then goes on, and the error has
  // the code `pending` and names the ranks that it waits for.
  [[nodiscard]] Result<Completion> wait_for(std::chrono::nanoseconds timeout) const;

  // True once the call has ended, well or not.
  bool test() const;

  // Gives the call up, and with it the job on all ranks, because they count on this rank's data.
  // Returns at once; no effect on a call that has ended.
  void cancel();

 private:
  std::shared_ptr<rank::Call> call_;
};

}  // namespace infold
