// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of which one thread serves those that are readable. The set has a descriptor itself,
// which is readable while one of the others is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <sys/epoll.h>

#include "base/result.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

class ReadySet {
 public:
  static base::Result<ReadySet> open();

  // `number` stands for the descriptor, which is closed after the set or never.
  base::Result<void> add(int descriptor, std::uint32_t number);
  // The numbers of some that are readable now. Others come with later calls. Valid until the next
  // call. Does not wait.
  std::span<const std::uint32_t> ready();
  int descriptor() const { return epoll_.get(); }

 private:
  static constexpr std::size_t kBatch = 64;

  explicit ReadySet(FileDescriptor epoll) : epoll_(std::move(epoll)) {}

  FileDescriptor epoll_;
  std::array<epoll_event, kBatch> events_{};
  std::array<std::uint32_t, kBatch> numbers_{};
};

}  // namespace infold::io
