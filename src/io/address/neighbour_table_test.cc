// SPDX-License-Identifier: Apache-2.0
#include "io/address/neighbour_table.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace infold::io {
namespace {

constexpr const char* kTable =
    "IP address       HW type     Flags       HW address            Mask     Device\n"
    "10.0.0.2         0x1         0x2         02:aa:bb:cc:dd:ee     *        eth0\n"
    "10.0.0.3         0x1         0x0         00:00:00:00:00:00     *        eth0\n"
    "10.0.0.4         0x1         0x0         00:00:00:00:00:00     *        eth0\n"
    "10.0.0.4         0x1         0x2         02:00:00:00:00:04     *        eth1\n"
    "10.0.0.5         0x1         0x2         02:00:00:00:zz:04     *        eth1\n"
    "10.0.0.6         0x1         0x2\n";

TEST(NeighbourTable, HasWhoHasAnswered) {
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0.2"), 0x02AABBCCDDEEULL);
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0.3"), std::nullopt) << "has not answered";
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0.4"), 0x020000000004ULL) << "on one interface";
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0"), std::nullopt);
}

TEST(NeighbourTable, SkipsWhatIsNoAddress) {
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0.5"), std::nullopt);
  EXPECT_EQ(find_ethernet_address(kTable, "10.0.0.6"), std::nullopt);
  EXPECT_EQ(find_ethernet_address("", "10.0.0.2"), std::nullopt);
}

TEST(NeighbourTable, LoopbackHasNone) {
  EXPECT_EQ(find_ethernet_address(*SocketAddress::parse("127.0.0.1:0", "test")), std::nullopt);
}

std::string table_of_this_host() {
  std::ifstream file("/proc/net/arp");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A host without neighbours has nothing to compare. The kernel may change a row meanwhile, so only
// the rows that are alike before and after are compared.
TEST(NeighbourTable, HasTheNeighboursOfThisHost) {
  const std::string before = table_of_this_host();
  std::istringstream lines(before);
  std::string line;
  std::getline(lines, line);  // the names of the columns
  while (std::getline(lines, line)) {
    const std::string host = line.substr(0, line.find(' '));
    const auto found = find_ethernet_address(*SocketAddress::parse(host + ":0", "test"));
    const auto expected = find_ethernet_address(before, host);
    if (expected == find_ethernet_address(table_of_this_host(), host)) {
      EXPECT_EQ(found, expected) << line;
    }
  }
}

}  // namespace
}  // namespace infold::io
