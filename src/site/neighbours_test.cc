// SPDX-License-Identifier: Apache-2.0
#include "site/neighbours.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/job_plan.h"

namespace infold::site {
namespace {

using ::testing::ElementsAre;

io::SocketAddress host(const std::string& text) {
  return *io::SocketAddress::parse_host(text, "test");
}

// Rank r is at 10.0.0.r.
join::JobTerms terms_of(std::uint32_t world) {
  join::JobTerms terms;
  terms.world = world;
  terms.datagram_bytes_max = 1472;
  terms.bulk_slots = 8;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    terms.rank_sources.push_back(host("10.0.0." + std::to_string(rank)));
  }
  return terms;
}

std::vector<std::string> sources_of(const join::JobTerms& terms) {
  std::vector<std::string> texts;
  for (const auto& each : worker_sources(terms, join::aggregator_options(terms))) {
    texts.push_back(each.is_set() ? each.host_text() : "anywhere");
  }
  return texts;
}

TEST(WorkerSources, OfRanksAndHostGroups) {
  join::JobTerms terms = terms_of(5);
  EXPECT_THAT(sources_of(terms),
              ElementsAre("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"));
  terms.groups = {{{1, 3}, "meeting"}};
  EXPECT_THAT(sources_of(terms), ElementsAre("10.0.0.0", "10.0.0.1", "10.0.0.4"));
  terms.rank_sources[1] = {};
  EXPECT_THAT(sources_of(terms), ElementsAre("10.0.0.0", "anywhere", "10.0.0.4"));
  terms.rank_sources.clear();
  EXPECT_THAT(sources_of(terms), ElementsAre("anywhere", "anywhere", "anywhere"));
}

TEST(WorkerSources, OfRacksAtTheirParentAndOfRanksInARack) {
  join::JobTerms terms = terms_of(6);
  terms.racks = {{0, 2}, {3, 3}};
  terms.rack_sources = {host("fd00::1"), host("fd00::2")};
  EXPECT_THAT(sources_of(terms), ElementsAre("fd00::1", "10.0.0.2", "fd00::2"));
  terms.below.emplace();
  terms.below->rack = {3, 3};
  terms.below->sites = {"10.1.0.1:7700"};
  EXPECT_THAT(sources_of(terms), ElementsAre("10.0.0.3", "10.0.0.4", "10.0.0.5"));
}

}  // namespace
}  // namespace infold::site
