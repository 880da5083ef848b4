// SPDX-License-Identifier: Apache-2.0
#include "study/measure/cost/processor_time.h"

#include <ctime>
#include <sys/resource.h>

#include "base/check.h"

namespace infold::measure {
namespace {

double clock_s(clockid_t clock) {
  timespec time = {};
  CHECK(clock_gettime(clock, &time) == 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

ProcessorTime process_time() {
  rusage usage = {};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

double process_s() { return clock_s(CLOCK_PROCESS_CPUTIME_ID); }
double thread_s() { return clock_s(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace infold::measure
