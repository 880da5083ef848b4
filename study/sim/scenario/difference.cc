// SPDX-License-Identifier: Apache-2.0
#include "study/sim/scenario/difference.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace infold::sim {

std::string first_difference(std::span<const std::byte> got, std::span<const std::byte> expected,
                             std::uint32_t element_bytes) {
  std::size_t different = 0;
  std::size_t first = got.size();
  for (std::size_t at = 0; at < got.size(); at += element_bytes) {
    if (std::memcmp(got.data() + at, expected.data() + at, element_bytes) == 0) continue;
    first = std::min(first, at);
    ++different;
  }
  if (different == 0) return "";
  std::uint64_t bits[2] = {};
  std::memcpy(&bits[0], got.data() + first, element_bytes);
  std::memcpy(&bits[1], expected.data() + first, element_bytes);
  return fmt::format("{} of {} elements are wrong, first {}: 0x{:x} instead of 0x{:x}", different,
                     got.size() / element_bytes, first / element_bytes, bits[0], bits[1]);
}

}  // namespace infold::sim
