// SPDX-License-Identifier: Apache-2.0
//
// Tests who owns the memory of results in rows, and how long.
#include "rank/calls/rows_memory.h"

#include <utility>

#include <gtest/gtest.h>

namespace infold::rank {
namespace {

Rows rows_of(const std::shared_ptr<ScratchPool>& pool) {
  auto memory = std::make_unique<RowsMemory>();
  memory->pool = pool;
  memory->values = pool->take(10'000);
  memory->indices = pool->take(100);
  Rows rows;
  RowsMemory::put(std::move(memory), rows);
  return rows;
}

TEST(RowsMemory, GoesBackToThePoolWhenTheRowsDo) {
  const auto pool = std::make_shared<ScratchPool>();
  {
    const Rows rows = rows_of(pool);
    EXPECT_EQ(pool->memory_bytes(), 0U);
  }
  const std::size_t both = pool->memory_bytes();
  EXPECT_GE(both, 10'100U);
  Rows rows = rows_of(pool);
  EXPECT_EQ(pool->memory_bytes(), 0U);
  rows = Rows();
  EXPECT_EQ(pool->memory_bytes(), both);
}

TEST(RowsMemory, StaysWhereThePoolIsGone) {
  auto pool = std::make_shared<ScratchPool>();
  const Rows rows = rows_of(pool);
  pool.reset();
  static_cast<std::byte*>(const_cast<void*>(rows.values().data))[9'999] = std::byte{1};
  EXPECT_EQ(rows.row_elements(), 1U);
}

}  // namespace
}  // namespace infold::rank
