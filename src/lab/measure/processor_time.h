// SPDX-License-Identifier: Apache-2.0
//
// Processor time of a thread or of a process so far, in seconds. Other programs on the same core do
// not count in it, as they do in a wall clock. Any thread.
#pragma once

namespace infold::lab {

// The kernel attributes time to the two parts by samples. Their sum is exact.
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
// The same without its parts, in nanoseconds' precision.
double process_s();
double thread_s();

}  // namespace infold::lab
