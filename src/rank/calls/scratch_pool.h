// SPDX-License-Identifier: Apache-2.0
//
// Buffers that hold results until their call has succeeded, and are then kept for the next call.
// They are not cleared. Any thread may take and give back buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace infold::rank {

struct Scratch {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
};

class ScratchPool {
 public:
  ScratchPool();

  // Returns memory of at least `bytes` bytes. Throws std::bad_alloc.
  Scratch take(std::size_t bytes);
  void give_back(Scratch scratch) noexcept;

  std::size_t memory_bytes() const;

 private:
  mutable base::Mutex mutex_;
  std::vector<Scratch> free_ GUARDED_BY(mutex_);
};

}  // namespace infold::rank
