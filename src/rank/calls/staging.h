// SPDX-License-Identifier: Apache-2.0
//
// Where the result of one tensor lies until its call has succeeded. A result that overlaps its
// input waits in memory of the pool, so that a failed call leaves the input as it was; any other
// goes to the output at once. Not thread-safe.
#pragma once

#include <cstddef>

#include "core/worker/worker.h"
#include "rank/calls/scratch_pool.h"

namespace infold::rank {

// Whether a result that overlaps its input has to be staged. Over the same elements each is encoded
// before its result comes; over others it may not be.
bool needs_staging(const core::TransferRequest& transfer, bool keeps_input);
// Whether the transfer's results are written over its input.
bool overwrites_input(const core::TransferRequest& transfer);

class Staging {
 public:
  explicit Staging(ScratchPool& pool) : pool_(pool) {}
  ~Staging() { clear(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Gives the transfer another output if it needs one. Returns whether the input survives a failed
  // call. Throws std::bad_alloc.
  bool stage(core::TransferRequest& transfer, bool keeps_input);
  // Memory of that size, whose content belongs somewhere else than to one output.
  std::byte* take(std::size_t bytes);
  std::byte* data() const { return scratch_.bytes.get(); }
  std::size_t capacity() const { return scratch_.capacity; }

  // Copies what was staged to the output.
  void deliver() const;
  // Whose memory it is from now on is the caller's to say.
  Scratch release();
  void clear();

 private:
  ScratchPool& pool_;
  Scratch scratch_;
  std::byte* output_ = nullptr;
  std::size_t bytes_ = 0;  // of the output
};

}  // namespace infold::rank
