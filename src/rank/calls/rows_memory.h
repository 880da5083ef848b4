// SPDX-License-Identifier: Apache-2.0
//
// The memory behind infold::Rows: two buffers of a communicator's pool. They go back to the pool,
// unless the communicator is gone; then they are freed.
#pragma once

#include <cstddef>
#include <memory>

#include <infold/rows.h>

#include "rank/calls/scratch_pool.h"

namespace infold::rank {

struct RowsMemory {
  std::weak_ptr<ScratchPool> pool;
  DataType type = DataType::f32;
  std::size_t rows = 0;  // all rows of the tensor
  std::size_t row_elements = 1;
  std::size_t count = 0;  // rows in memory
  Scratch values = {};
  Scratch indices = {};

  RowsMemory() = default;
  RowsMemory(const RowsMemory&) = delete;
  RowsMemory& operator=(const RowsMemory&) = delete;
  ~RowsMemory() {
    const std::shared_ptr<ScratchPool> home = pool.lock();
    if (!home) return;
    home->give_back(std::move(values));
    home->give_back(std::move(indices));
  }

  // Gives back the memory that `rows` held before.
  static void put(std::unique_ptr<RowsMemory> memory, Rows& rows) {
    rows.memory_ = std::move(memory);
  }
};

}  // namespace infold::rank
