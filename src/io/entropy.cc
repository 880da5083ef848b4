// SPDX-License-Identifier: Apache-2.0
//
// The kernel's generator; a clock stands in for it where it is forbidden.
#include "io/entropy.h"

#include <sys/random.h>

#include "base/prng.h"
#include "io/clock.h"

namespace infold::io {

std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) == sizeof(number)) return number;
  return base::mix64(static_cast<std::uint64_t>(monotonic_now().ns));
}

}  // namespace infold::io
