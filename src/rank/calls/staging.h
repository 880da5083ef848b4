// SPDX-License-Identifier: Apache-2.0
//
// Holds the result of one tensor until its call has succeeded. A result that overlaps its input
// waits in the pool's memory, so that a failed call leaves the input unchanged. Any other result
// goes directly to the output. Not thread-safe.
#pragma once

#include <cstddef>

#include "core/worker/worker.h"
#include "rank/calls/scratch_pool.h"

namespace infold::rank {

// Whether a result that overlaps its input has to be staged. If input and output are the same
// memory, each element is encoded before its result arrives; if they are shifted, it may not be.
bool needs_staging(const core::TransferRequest& transfer, bool keeps_input);
// Whether the transfer's results are written over its input.
bool overwrites_input(const core::TransferRequest& transfer);

class Staging {
 public:
  explicit Staging(ScratchPool& pool) : pool_(pool) {}
  ~Staging() { clear(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Redirects the transfer's output to staging memory if necessary. Returns whether the input
  // survives a failed call. Throws std::bad_alloc.
  bool stage(core::TransferRequest& transfer, bool keeps_input);
  // Takes memory of that size for contents that do not go to a single output.
  std::byte* take(std::size_t bytes);
  std::byte* data() const { return scratch_.bytes.get(); }
  std::size_t capacity() const { return scratch_.capacity; }

  // Copies what was staged to the output.
  void deliver() const;
  // Hands the memory to the caller.
  Scratch release();
  void clear();

 private:
  ScratchPool& pool_;
  Scratch scratch_;
  std::byte* output_ = nullptr;
  std::size_t bytes_ = 0;  // size of the output
};

}  // namespace infold::rank
