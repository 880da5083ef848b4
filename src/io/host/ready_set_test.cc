// SPDX-License-Identifier: Apache-2.0
#include "io/host/ready_set.h"

#include <algorithm>
#include <poll.h>
#include <set>
#include <sys/eventfd.h>
#include <vector>

#include <gtest/gtest.h>

namespace infold::io {
namespace {

bool is_readable(int descriptor) {
  pollfd polled = {descriptor, POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

TEST(ReadySet, SaysWhichAreReadable) {
  auto set = ReadySet::open();
  ASSERT_TRUE(set.has_value());
  std::vector<FileDescriptor> events;
  for (std::uint32_t number = 0; number < 200; ++number) {
    events.emplace_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    ASSERT_TRUE(set->add(events.back().get(), 1000 + number).has_value());
  }
  EXPECT_TRUE(set->ready().empty());
  EXPECT_FALSE(is_readable(set->descriptor()));
  eventfd_write(events[7].get(), 1);
  eventfd_write(events[199].get(), 1);
  EXPECT_TRUE(is_readable(set->descriptor()));
  const auto ready = set->ready();
  EXPECT_EQ(std::set<std::uint32_t>(ready.begin(), ready.end()),
            (std::set<std::uint32_t>{1007, 1199}));
}

// More descriptors are ready than one call returns, and none of them starves.
TEST(ReadySet, AllComeInTurn) {
  auto set = ReadySet::open();
  ASSERT_TRUE(set.has_value());
  std::vector<FileDescriptor> events;
  for (std::uint32_t number = 0; number < 150; ++number) {
    events.emplace_back(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
    ASSERT_TRUE(set->add(events.back().get(), number).has_value());
  }
  std::set<std::uint32_t> seen;
  for (int call = 0; call < 3; ++call) {
    const auto ready = set->ready();
    seen.insert(ready.begin(), ready.end());
  }
  EXPECT_EQ(seen.size(), events.size());
}

TEST(ReadySet, RefusesWhatIsNoFile) {
  auto set = ReadySet::open();
  ASSERT_TRUE(set.has_value());
  EXPECT_FALSE(set->add(-1, 0).has_value());
}

}  // namespace
}  // namespace infold::io
