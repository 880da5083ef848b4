// SPDX-License-Identifier: Apache-2.0
#include "io/host/patience.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "io/host/clock.h"

namespace infold::io {

int milliseconds_until(base::Instant at) {
  const std::int64_t left = (at - monotonic_now()).ns;
  if (left <= 0) return 0;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(left / 1'000'000 + (left % 1'000'000 != 0 ? 1 : 0), kMost));
}

}  // namespace infold::io
