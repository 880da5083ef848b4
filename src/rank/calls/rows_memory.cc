// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/rows_memory.h"

#include <infold/rows.h>

namespace infold {

Rows::Rows() = default;
Rows::Rows(Rows&& other) noexcept = default;
Rows& Rows::operator=(Rows&& other) noexcept = default;
Rows::~Rows() = default;

std::span<const std::int64_t> Rows::indices() const {
  if (!memory_) return {};
  return {reinterpret_cast<const std::int64_t*>(memory_->indices.bytes.get()), memory_->count};
}

TensorView Rows::values() const {
  if (!memory_) return {};
  return {memory_->values.bytes.get(), memory_->count * memory_->row_elements, memory_->type};
}

std::size_t Rows::rows() const { return memory_ ? memory_->rows : 0; }
std::size_t Rows::row_elements() const { return memory_ ? memory_->row_elements : 1; }

}  // namespace infold
