// SPDX-License-Identifier: Apache-2.0
//
// Calls back once after a time, from one of gRPC's threads. An alarm that is cancelled, set again
// or destroyed does not call back, but may be doing so just then.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <grpcpp/alarm.h>

namespace infold::join {

class Alarm {
 public:
  // At once if the time is not positive. `action` is destroyed after the call, or soon after the
  // alarm is cancelled. Its captures live until then.
  void set(std::chrono::nanoseconds in, std::function<void()> action);
  void cancel() { alarm_.reset(); }

 private:
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace infold::join
