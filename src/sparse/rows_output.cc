// SPDX-License-Identifier: Apache-2.0
#include "sparse/rows_output.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "numeric/codec.h"
#include "numeric/presence.h"
#include "sparse/rows.h"
#include "sparse/runs.h"

namespace infold::sparse {
namespace {

// Moves a row towards the beginning. If a row is a single element, calling memmove() costs more
// than the copy, so the compiler gets a constant length.
void move_row(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes == 4) {
    std::memmove(to, from, 4);
  } else if (from != to) {
    std::memmove(to, from, bytes);
  }
}

}  // namespace

void RowsOutput::begin(std::uint64_t row_elements, const core::TensorCodec& codec,
                       core::ElementLayout layout, std::uint64_t elements) {
  codec_ = &codec;
  layout_ = layout;
  row_elements_ = row_elements;
  elements_ = elements;
  values_ = nullptr;
  rows_ = next_row_ = 0;
  stretches_.clear();
  places_.clear();
}

void RowsOutput::add(std::uint32_t block) {
  const std::uint64_t first = std::uint64_t{block} << layout_.block_shift();
  const std::uint64_t end = std::min(first + layout_.block_elements(), elements_);
  const std::uint64_t first_row = first / row_elements_;
  const std::uint64_t end_row = (end - 1) / row_elements_ + 1;
  // The previous block may end in this block's first row.
  const std::uint64_t new_row = std::max(first_row, next_row_);
  if (stretches_.empty() || new_row > next_row_) stretches_.push_back({new_row, rows_});
  const std::uint64_t place = rows_ - (new_row - first_row);
  places_.push_back(place * row_elements_ + (first - first_row * row_elements_));
  rows_ += end_row - new_row;
  next_row_ = end_row;
}

std::size_t RowsOutput::row_bytes() const { return row_elements_ * element_bytes(layout_.dtype); }

std::size_t RowsOutput::value_bytes() const { return rows_ * row_bytes(); }

void RowsOutput::set_memory(std::byte* values) {
  values_ = values;
  const std::size_t width = element_bytes(layout_.dtype);
  std::uint64_t covered = 0;
  for (const std::uint64_t place : places_) {
    std::memset(values_ + covered * width, 0, (place - covered) * width);
    covered = place + layout_.block_elements();
  }
  // Only the tensor's last block is short, and no block follows it.
  const std::uint64_t end = rows_ * row_elements_;
  if (covered < end) std::memset(values_ + covered * width, 0, (end - covered) * width);
}

void RowsOutput::decode(core::ChunkRange range, const core::TensorCodec::Received& received) const {
  const std::size_t width = element_bytes(layout_.dtype);
  for_each_run(
      layout_, range, [this](std::uint64_t block) { return places_[block]; },
      [&](std::uint32_t at, std::uint64_t place, std::uint32_t elements) {
        decode_run(*codec_, layout_, received, at, values_ + place * width, {0, elements});
      });
}

std::uint64_t RowsOutput::find_rows() {
  kept_.assign(words_for(rows_), 0);
  const std::uint32_t block_elements = numeric::presence_block_elements(layout_.dtype);
  if (row_elements_ % block_elements == 0) {
    keep_rows_of_whole_blocks(row_elements_ / block_elements);
  } else {
    with_magnitude(layout_.dtype, [&](auto magnitude) {
      for (std::uint64_t row = 0; row < rows_; ++row) {
        const std::byte* const at = values_ + row * row_elements_ * sizeof(magnitude);
        if (holds_anything(at, row_elements_, magnitude)) keep_row(row);
      }
    });
  }
  std::uint64_t count = 0;
  for (const std::uint32_t word : kept_) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

void RowsOutput::keep_row(std::uint64_t row) {
  kept_[row / kWordBits] |= std::uint32_t{1} << row % kWordBits;
}

void RowsOutput::keep_rows_of_whole_blocks(std::uint64_t blocks_per_row) {
  present_.resize(words_for(rows_ * blocks_per_row));
  numeric::find_presence(layout_.dtype, values_, rows_ * row_elements_, present_.data());
  std::uint64_t row = 0;
  std::uint64_t row_end = blocks_per_row;
  for (std::uint64_t place = 0; place < present_.size(); ++place) {
    for_each_bit(place, present_[place], [&](std::uint64_t block) {
      for (; block >= row_end; ++row) row_end += blocks_per_row;
      keep_row(row);
    });
  }
}

void RowsOutput::take(std::int64_t* indices) {
  const std::size_t bytes = row_bytes();
  std::byte* to = values_;
  std::size_t stretch = 0;
  for (std::uint64_t place = 0; place < kept_.size(); ++place) {
    for_each_bit(place, kept_[place], [&](std::uint64_t row) {
      while (stretch + 1 < stretches_.size() && stretches_[stretch + 1].place <= row) ++stretch;
      const Stretch& own = stretches_[stretch];
      *indices++ = static_cast<std::int64_t>(own.first_row + (row - own.place));
      move_row(values_ + row * bytes, to, bytes);
      to += bytes;
    });
  }
}

}  // namespace infold::sparse
