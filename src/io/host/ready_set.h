// SPDX-License-Identifier: Apache-2.0
//
// A set of descriptors for a thread that serves whichever of them are readable. The set has a
// descriptor of its own, which is readable while any of the others is.
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

  // ready() reports the descriptor by this number. The descriptor must stay open as long as the
  // set.
  base::Result<void> add(int descriptor, std::uint32_t number);
  // Returns the numbers of some descriptors that are readable now, without waiting; later calls
  // return the others. Valid until the next call.
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
