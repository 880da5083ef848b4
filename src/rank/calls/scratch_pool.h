// SPDX-License-Identifier: Apache-2.0
//
// Buffers for results until their call has succeeded, kept for the next call. Buffers are not
// cleared. Any thread may take and give back.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace infold::rank {

struct Scratch {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
};

class ScratchPool {
 public:
  ScratchPool();

  // At least `bytes` long. Throws std::bad_alloc.
  Scratch take(std::size_t bytes);
  void give_back(Scratch scratch) noexcept;

  std::size_t memory_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Scratch> free_;
};

}  // namespace infold::rank
