// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/rows_launch.h"

#include <cstring>

namespace infold::rank {
namespace {

// Staging memory holds whole blocks, so that short rows may use little of it. If it is this many
// times as large as the rows, they are copied to a buffer of their own.
constexpr std::size_t kUnusedFactor = 4;

}  // namespace

Result<LaunchOutline> RowsLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  const RowsView& rows = *request.rows;
  const std::size_t width = element_bytes(request.input.type);
  sparse::BlockSum::Work work{.dense = blank_transfer(request, terms)};
  work.dense.elements = request.input.elements;
  work.input_rows = {.dtype = terms.format.layout.dtype,
                     .indices = rows.indices,
                     .values = static_cast<const std::byte*>(rows.values.data),
                     .row_elements = rows.row_elements};
  output_ = request.output_rows;
  if (output_ != nullptr) {
    work.output_row_elements = rows.row_elements;
    result_ = std::make_unique<RowsMemory>();
    result_->pool = pool_;
    result_->type = request.input.type;
    result_->rows = rows.rows;
    result_->row_elements = rows.row_elements;
  } else {
    work.dense.output = static_cast<std::byte*>(request.output.data);
    const std::size_t bytes = work.dense.elements * width;
    work.stages =
        overlap(rows.values.data, rows.values.elements * width, work.dense.output, bytes) ||
        overlap(rows.indices.data(), rows.indices.size_bytes(), work.dense.output, bytes);
  }
  return begin_sum(work, terms);
}

std::optional<Error> RowsLaunch::deliver() {
  if (std::optional<Error> error = SparseLaunch::deliver()) return error;
  if (output_ == nullptr) return std::nullopt;
  result_->count = sum().rows_found();
  result_->indices = pool_->take(result_->count * sizeof(std::int64_t));
  sum().take_rows(reinterpret_cast<std::int64_t*>(result_->indices.bytes.get()));
  take_values(*result_);
  RowsMemory::put(std::move(result_), *output_);
  return std::nullopt;
}

void RowsLaunch::take_values(RowsMemory& result) {
  const std::size_t bytes = result.count * result.row_elements * element_bytes(result.type);
  if (staging().capacity() / kUnusedFactor <= bytes) {
    result.values = staging().release();
    return;
  }
  result.values = pool_->take(bytes);
  std::memcpy(result.values.bytes.get(), staging().data(), bytes);
}

void RowsLaunch::clear() {
  SparseLaunch::clear();
  output_ = nullptr;
  result_.reset();
}

}  // namespace infold::rank
