// SPDX-License-Identifier: Apache-2.0
#include "io/host/ready_set.h"

#include <algorithm>
#include <cerrno>

namespace infold::io {

base::Result<ReadySet> ReadySet::open() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) {
    return base::fail(base::Code::resource_exhausted, "epoll", "out of files", errno);
  }
  return ReadySet(std::move(epoll));
}

base::Result<void> ReadySet::add(int descriptor, std::uint32_t number) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = number;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return base::fail(base::Code::resource_exhausted, "epoll", "cannot watch a file", errno);
}

std::span<const std::uint32_t> ReadySet::ready() {
  const int count = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(kBatch), 0);
  const auto found = static_cast<std::size_t>(std::max(count, 0));
  for (std::size_t i = 0; i < found; ++i) numbers_[i] = events_[i].data.u32;
  return {numbers_.data(), found};
}

}  // namespace infold::io
