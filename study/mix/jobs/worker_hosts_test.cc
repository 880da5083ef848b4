// SPDX-License-Identifier: Apache-2.0
//
// Tests which hosts jobs get on a cluster with three racks of four hosts.
#include "study/mix/jobs/worker_hosts.h"

#include <gtest/gtest.h>

namespace infold::mix {
namespace {

using Hosts = std::vector<std::uint16_t>;

WorkerHosts::Options racks_of_four(Strategy strategy, std::uint16_t places = 1) {
  return {.racks = 3, .hosts_per_rack = 4, .places_per_host = places, .strategy = strategy};
}

TEST(WorkerHosts, PacksIntoTheFullestRackThatHasRoom) {
  WorkerHosts hosts(racks_of_four(Strategy::packed));
  EXPECT_EQ(hosts.place(3), (Hosts{0, 1, 2}));
  EXPECT_EQ(hosts.place(2), (Hosts{4, 5})) << "rack 0 has one host left";
  EXPECT_EQ(hosts.place(1), (Hosts{3}));
  EXPECT_EQ(hosts.place(2), (Hosts{6, 7})) << "rack 1 is fuller than rack 2";
  EXPECT_EQ(hosts.place(4), (Hosts{8, 9, 10, 11}));
}

TEST(WorkerHosts, PacksALargeJobIntoFewRacks) {
  WorkerHosts hosts(racks_of_four(Strategy::packed));
  EXPECT_EQ(hosts.place(2), (Hosts{0, 1}));
  EXPECT_EQ(hosts.place(6), (Hosts{4, 5, 6, 7, 8, 9})) << "no worker in rack 0";
}

TEST(WorkerHosts, SpreadsOverRacks) {
  WorkerHosts hosts(racks_of_four(Strategy::spread));
  EXPECT_EQ(hosts.place(3), (Hosts{0, 4, 8}));
  EXPECT_EQ(hosts.place(1), (Hosts{1}));
  EXPECT_EQ(hosts.place(5), (Hosts{2, 5, 6, 9, 10}));
}

TEST(WorkerHosts, TakesNothingIfAJobDoesNotFit) {
  WorkerHosts hosts(racks_of_four(Strategy::packed));
  const auto first = hosts.place(8);
  EXPECT_EQ(hosts.place(5), std::nullopt);
  EXPECT_EQ(hosts.place(4), (Hosts{8, 9, 10, 11}));
  EXPECT_EQ(hosts.place(1), std::nullopt);
  hosts.free(first.value());
  EXPECT_EQ(hosts.place(8), first);
}

TEST(WorkerHosts, AHostHasAtMostOneWorkerOfAJob) {
  WorkerHosts hosts(racks_of_four(Strategy::packed, 2));
  EXPECT_EQ(hosts.place(13), std::nullopt) << "there are 12 hosts";
  EXPECT_EQ(hosts.place(4), (Hosts{0, 1, 2, 3}));
  EXPECT_EQ(hosts.place(4), (Hosts{0, 1, 2, 3})) << "the hosts have two places";
}

TEST(WorkerHosts, EmptyHostsGoFirst) {
  WorkerHosts hosts(racks_of_four(Strategy::packed, 2));
  EXPECT_EQ(hosts.place(2), (Hosts{0, 1}));
  EXPECT_EQ(hosts.place(3), (Hosts{0, 2, 3}));
}

}  // namespace
}  // namespace infold::mix
