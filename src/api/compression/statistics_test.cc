// SPDX-License-Identifier: Apache-2.0
//
// Tests what a Compression counts.
#include <vector>

#include <infold/compression.h>

#include "api/testing.h"

namespace infold {
namespace {

using testing::make_group;
using testing::on_every_rank;

// No law fits a tensor of equal elements, because all of them are above any threshold or none is.
TEST(CompressionStatistics, CountsExactSelections) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [](Communicator& comm, int) {
    auto compression = Compression::create({.method = "sidco"});
    ASSERT_TRUE(compression.has_value()) << compression.error().message;
    for (std::uint64_t step = 1; step <= 2; ++step) {
      std::vector<float> gradient(10'000, 1.0F);
      const ParameterView view{"layer", gradient};
      ASSERT_TRUE(compression->average(comm, {&view, 1}).has_value());
      EXPECT_EQ(compression->statistics().fallbacks, step);
    }
  });
}

}  // namespace
}  // namespace infold
