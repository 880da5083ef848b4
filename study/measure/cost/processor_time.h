// SPDX-License-Identifier: Apache-2.0
//
// The processor time of a thread or a process so far, in seconds. Unlike a wall clock, it does not
// include other programs on the same core. Any thread may call these functions.
#pragma once

namespace infold::measure {

// The kernel divides time between the two parts by sampling, but their sum is exact.
struct ProcessorTime {
  double user_s = 0;
  double system_s = 0;

  double all_s() const { return user_s + system_s; }
  friend ProcessorTime operator+(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.user_s + b.user_s, a.system_s + b.system_s};
  }
  friend ProcessorTime operator-(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.user_s - b.user_s, a.system_s - b.system_s};
  }
  friend ProcessorTime operator/(const ProcessorTime& time, double parts) {
    return {time.user_s / parts, time.system_s / parts};
  }
};

ProcessorTime process_time();
// The same without its parts, with a precision of nanoseconds.
double process_s();
double thread_s();

}  // namespace infold::measure
