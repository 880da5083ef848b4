// SPDX-License-Identifier: Apache-2.0
//
// clear() sets all given bytes and no others to zero, for any begin and end.
#include "numeric/clear.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace infold::numeric {
namespace {

TEST(Clear, WritesZerosToAllOfItAndNothingElse) {
  constexpr std::size_t kMost = (std::size_t{1} << 20) + 300;
  std::vector<std::byte> bytes(kMost + 200);
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{77}, kMost - 300, kMost - 63, kMost}) {
    for (const std::size_t first : {0, 1, 63, 64, 100}) {
      std::fill(bytes.begin(), bytes.end(), std::byte{9});
      clear(bytes.data() + first, count);
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = from + static_cast<std::ptrdiff_t>(count);
      EXPECT_EQ(std::count(from, to, std::byte{0}), static_cast<std::ptrdiff_t>(count));
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{9}),
                static_cast<std::ptrdiff_t>(bytes.size() - count))
          << first << " " << count;
    }
  }
}

}  // namespace
}  // namespace infold::numeric
