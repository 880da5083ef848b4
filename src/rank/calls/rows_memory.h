// SPDX-License-Identifier: Apache-2.0
//
// What stands behind infold::Rows: two buffers of a communicator's pool, which go back there if the
// communicator still lives. One that a program holds on to is the program's own.
#pragma once

#include <cstddef>
#include <memory>

#include <infold/rows.h>

#include "rank/calls/scratch_pool.h"

namespace infold::rank {

struct RowsMemory {
  std::weak_ptr<ScratchPool> pool;
  DataType type = DataType::f32;
  std::size_t rows = 0;  // of the whole tensor
  std::size_t row_elements = 1;
  std::size_t count = 0;  // of rows in memory
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

  // What was there is given back.
  static void put(std::unique_ptr<RowsMemory> memory, Rows& rows) {
    rows.memory_ = std::move(memory);
  }
};

}  // namespace infold::rank
