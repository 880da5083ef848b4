// SPDX-License-Identifier: Apache-2.0
//
// Reads std::chrono::steady_clock, which is CLOCK_MONOTONIC on Linux.
#include "io/host/clock.h"

#include <chrono>

namespace infold::io {

base::Instant monotonic_now() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count()};
}

base::Duration wall_clock_offset() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const base::Instant now = monotonic_now();
  return base::Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count()} -
         now;
}

std::int64_t seconds_since_1970() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
}

void rest(base::Duration duration) {
  const timespec time = {duration.ns / 1'000'000'000, duration.ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace infold::io
