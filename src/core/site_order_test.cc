// SPDX-License-Identifier: Apache-2.0
//
// The hash must give the examples in spec/joining.md, which other implementations rely on.
#include "core/site_order.h"

#include <vector>

#include <gtest/gtest.h>

namespace infold::core {
namespace {

SiteOptions site(std::uint16_t job, std::uint32_t epoch, std::uint16_t weight) {
  SiteOptions options;
  options.job = job;
  options.epoch = epoch;
  options.weight = weight;
  return options;
}

TEST(SiteOrder, IsWhatThePageSays) {
  const std::vector<SiteOptions> sites = {site(7, 3, 1), site(9, 0xfedcba98, 64)};
  EXPECT_EQ(site_order(std::span(sites).first(1)), 0x6fecae2ecbbe8035U);
  EXPECT_EQ(site_order(sites), 0x6c4a0430d8fda045U);
}

TEST(SiteOrder, DiffersWhereChunksGoElsewhere) {
  const std::vector<SiteOptions> sites = {site(7, 3, 1), site(9, 4, 2)};
  EXPECT_NE(site_order(sites), site_order(std::vector{sites[1], sites[0]}));
  EXPECT_NE(site_order(sites), site_order(std::vector{sites[0], site(9, 4, 1)}));
  EXPECT_NE(site_order(sites), site_order(std::vector{sites[0], site(9, 5, 2)}));
}

}  // namespace
}  // namespace infold::core
