// SPDX-License-Identifier: Apache-2.0
//
// The calls of a rank that verifies: one at a time, in order, each followed by a check that all
// ranks hold the same bits where they should. For finding what is wrong, not for speed.
//
// A thread of its own makes the calls and the checks, so that starting a call still takes no time
// and programs that rely on that go on working. The calls that it makes are not the program's.
// Any thread may call add(); the rest is for one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <infold/handle.h>
#include <infold/result.h>

#include "rank/calls/call.h"
#include "rank/calls/request.h"

namespace infold::rank {

class CheckedCalls {
 public:
  // Begins a call under the name of one that the program has made.
  using Begin = std::function<Handle(const CallRequest& request, CallName name)>;

  // Throws std::system_error when no thread can be had.
  CheckedCalls(int rank, int world, Begin begin);
  ~CheckedCalls();

  // Finishes `call` when the request is done and checked. Requires: before close().
  void add(Call& call, const CallRequest& request);
  // Calls that have not begun fail from now on.
  void close();
  // Ends the thread. Requires: the driver has stopped, so that calls in flight have ended.
  void stop();

 private:
  struct Item {
    Call* call;
    CallRequest request;
    std::vector<MutableTensorView> list;  // the request's own, which its caller may have dropped
  };

  void run();
  Result<Completion> make(const Item& item);
  template <typename Find>
  std::optional<Error> check(const Item& item, Find&& find);

  const int rank_;
  const int world_;
  const Begin begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool closed_ = false;
  std::string divergence_;  // of the call that ended the job here; by the thread
  std::thread thread_;
};

}  // namespace infold::rank
