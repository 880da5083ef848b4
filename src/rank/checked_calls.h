// SPDX-License-Identifier: Apache-2.0
//
// The calls of a rank that verifies. They are made one at a time, in order, and after each the
// ranks check that they hold the same bits where they should. This helps to find faults and is
// slow.
//
// A thread of its own makes the calls and the checks, so that starting a call still returns at
// once, as programs may rely on. The calls that this thread makes are not the program's own. Any
// thread may call add(); only one thread may call the rest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <infold/handle.h>
#include <infold/result.h>

#include "base/mutex.h"
#include "rank/call.h"
#include "rank/calls/request.h"

namespace infold::rank {

class CheckedCalls {
 public:
  // Begins a call under the name of a call that the program has made.
  using Begin = std::function<Handle(const CallRequest& request, CallName name)>;

  // Throws std::system_error if no thread can be started.
  CheckedCalls(int rank, int world, Begin begin);
  ~CheckedCalls();

  // Finishes `call` when the request has been made and checked. Requires: close() has not been
  // called.
  void add(Call& call, const CallRequest& request);
  // From now on, calls that have not begun fail.
  void close();
  // Ends the thread. Requires: the driver has stopped, so that calls in flight have ended.
  void stop();

 private:
  struct Item {
    Call* call;
    CallRequest request;
    std::vector<MutableTensorView> list;  // copied, because the caller may have dropped its own
  };

  void run();
  Result<Completion> make(const Item& item);
  template <typename Find>
  std::optional<Error> check(const Item& item, Find&& find);

  const int rank_;
  const int world_;
  const Begin begin_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::deque<Item> items_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::string divergence_;  // names the call that ended the job here; used only by thread_
  std::thread thread_;
};

}  // namespace infold::rank
