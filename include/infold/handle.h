// SPDX-License-Identifier: Apache-2.0
//
// A handle stands for one call in flight. The call's tensors belong to infold until test() is true,
// or until a wait has returned something other than `pending`. Until then, do not change inputs, do
// not touch outputs, and keep both alive.
//
// Destroying a handle waits for the end of its call, at most until the call's deadline, so a tensor
// that is declared before its handle is always safe. Handles may outlive their communicator. Any
// thread may call any method, several at the same time. Only one thread may move or destroy a
// handle.
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
  // Has no call: test() is true, and waits fail with invalid_argument.
  Handle() = default;
  explicit Handle(std::shared_ptr<rank::Call> call);
  Handle(Handle&& other) noexcept = default;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle();

  // Blocks until the call has ended, at most until its deadline. Each later wait returns the same.
  [[nodiscard]] Result<Completion> wait() const;

  // Blocks at most for `timeout`. A call that is not done by then goes on. The error then has the
  // code `pending` and names the ranks that the call waits for.
  [[nodiscard]] Result<Completion> wait_for(std::chrono::nanoseconds timeout) const;

  // True once the call has ended, well or not.
  bool test() const;

  // Gives the call up, and ends the job on all ranks, because they need this rank's data. Returns
  // at once. Has no effect on a call that has ended.
  void cancel();

 private:
  std::shared_ptr<rank::Call> call_;
};

}  // namespace infold
