// SPDX-License-Identifier: Apache-2.0
//
// Calls back once after a time, from one of gRPC's threads. An alarm that is cancelled, set again
// or destroyed does not call back any more, but a call may be running at that moment.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <grpcpp/alarm.h>

namespace infold::join {

class Alarm {
 public:
  // Calls back at once if the time is not positive. `action` and its captures live until the call
  // has returned, or until soon after the alarm is cancelled.
  void set(std::chrono::nanoseconds in, std::function<void()> action);
  void cancel() { alarm_.reset(); }

 private:
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace infold::join
