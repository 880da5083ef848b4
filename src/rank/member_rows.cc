// SPDX-License-Identifier: Apache-2.0
//
// Sums of tensors in rows: from a request to a sum without zeros, and from that to rows.
#include <cstring>

#include "rank/member.h"

namespace infold::rank {
namespace {

// Rows of a few elements are found among all that lie in their blocks. Where that leaves so much
// memory unused, they move to some of their own.
constexpr std::size_t kSparseFactor = 4;

}  // namespace

std::optional<Error> Member::launch_rows(Call& call, const CallRequest& request,
                                         const FormatChoice& choice) {
  const RowsView& rows = *request.rows;
  Call::Description& description = call.description;
  description.composed = true;
  description.elements = request.input.elements;
  description.output_rows = request.output_rows;
  if (request.output_rows != nullptr) {
    call.rows_result = std::make_unique<RowsMemory>();
    call.rows_result->pool = scratch_;
    call.rows_result->type = request.input.type;
    call.rows_result->rows = rows.rows;
    call.rows_result->row_elements = rows.row_elements;
  }

  const std::size_t width = element_bytes(request.input.type);
  sparse::BlockSum::Work work{.dense = blank_transfer(call, request, choice)};
  work.dense.elements = description.elements;
  work.input_rows = {.dtype = choice.layout.dtype,
                     .indices = rows.indices,
                     .values = static_cast<const std::byte*>(rows.values.data),
                     .row_elements = rows.row_elements};
  if (request.output_rows != nullptr) {
    work.output_row_elements = rows.row_elements;
  } else {
    work.dense.output = static_cast<std::byte*>(request.output.data);
    const std::size_t bytes = description.elements * width;
    work.stages =
        overlap(rows.values.data, rows.values.elements * width, work.dense.output, bytes) ||
        overlap(rows.indices.data(), rows.indices.size_bytes(), work.dense.output, bytes);
  }
  return begin_block_sum(call, work);
}

// Throws std::bad_alloc.
void Member::deliver_rows(Call& call) {
  std::unique_ptr<RowsMemory> result = std::move(call.rows_result);
  if (call.block_steps > 0) {
    result->count = call.block_sum->rows_found();
    result->indices = scratch_->take(result->count * sizeof(std::int64_t));
    call.block_sum->take_rows(reinterpret_cast<std::int64_t*>(result->indices.bytes.get()));
    const std::size_t bytes = result->count * result->row_elements * element_bytes(result->type);
    if (call.staging.capacity / kSparseFactor > bytes) {
      result->values = scratch_->take(bytes);
      std::memcpy(result->values.bytes.get(), call.staging.bytes.get(), bytes);
    } else {
      result->values = std::exchange(call.staging, {});
    }
  }
  RowsMemory::put(std::move(result), *call.description.output_rows);
}

}  // namespace infold::rank
