// SPDX-License-Identifier: Apache-2.0
#include "sparse/rows_input.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/encoded_range.h"
#include "sparse/runs.h"

namespace infold::sparse {
namespace {

// Joins pieces that follow each other in memory into one run. Blocks that must first be composed
// are written side by side, so they become runs as well.
class Runs {
 public:
  explicit Runs(core::EncodedRange& encoded)
      : encoded_(encoded), width_(element_bytes(encoded.layout.dtype)) {}

  void add(std::uint32_t at, const std::byte* piece, std::uint32_t elements) {
    if (elements_ == 0 || piece != run_ + elements_ * width_) {
      flush();
      at_ = at;
      run_ = piece;
    }
    elements_ += elements;
  }
  // Returns memory for the piece that is added next.
  std::byte* room(std::uint32_t elements) {
    const std::size_t bytes = elements * width_;
    if (used_ + bytes > memory_.size()) {
      flush();
      used_ = 0;
    }
    std::byte* const piece = memory_.data() + used_;
    used_ += bytes;
    return piece;
  }
  void flush() {
    if (elements_ > 0) encoded_.add_run(at_, run_, {0, elements_});
    elements_ = 0;
  }

 private:
  core::EncodedRange& encoded_;
  std::size_t width_;
  std::uint32_t at_ = 0;
  const std::byte* run_ = nullptr;
  std::uint32_t elements_ = 0;
  std::size_t used_ = 0;
  std::array<std::byte, 16384> memory_;  // room for many blocks, but a small part of a stack
};

}  // namespace

void RowsInput::begin(const Rows& rows, const core::TensorCodec& codec, core::ElementLayout layout,
                      std::uint64_t elements) {
  rows_ = rows;
  codec_ = &codec;
  layout_ = layout;
  elements_ = elements;
  next_given_ = 0;
  blocks_.clear();
  sources_.clear();
}

void RowsInput::add(std::uint32_t block, bool is_own) {
  blocks_.push_back(block);
  if (!is_own) {
    sources_.push_back(kAbsent);
    return;
  }
  const auto row_at = [this](std::uint64_t given) {
    return static_cast<std::uint64_t>(rows_.indices[given]);
  };
  const std::uint64_t length = rows_.row_elements;
  const std::uint64_t first = std::uint64_t{block} << layout_.block_shift();
  const std::uint64_t end = std::min(first + layout_.block_elements(), elements_);
  while ((row_at(next_given_) + 1) * length <= first) ++next_given_;
  // The block lies in memory in one piece if all rows that it touches are given.
  const std::uint64_t row = row_at(next_given_);
  const std::uint64_t more = end <= (row + 1) * length ? 0 : (end - 1) / length - row;
  const std::uint64_t last = next_given_ + more;
  const bool is_whole =
      row * length <= first && last < rows_.indices.size() && row_at(last) == row + more;
  sources_.push_back(is_whole ? next_given_ * length + (first - row * length)
                              : next_given_ | kInPieces);
}

bool RowsInput::encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
                       std::byte* elements) const {
  const std::size_t width = element_bytes(layout_.dtype);
  core::EncodedRange encoded{*codec_, nullptr, layout_, codes, exponents, elements};
  Runs runs(encoded);
  for_each_piece(
      layout_, range,
      [&](std::uint32_t at, std::uint64_t block, std::uint32_t into_block, std::uint32_t count) {
        const std::uint64_t source = sources_[block];
        if (source < kInPieces) {
          runs.add(at, rows_.values + (source + into_block) * width, count);
          return;
        }
        std::byte* const piece = runs.room(count);
        std::memset(piece, 0, count * width);
        if (source != kAbsent) {
          const std::uint64_t first = std::uint64_t{blocks_[block]} << layout_.block_shift();
          compose(source & ~kInPieces, first + into_block, count, piece);
        }
        runs.add(at, piece, count);
      });
  runs.flush();
  encoded.finish(range.elements);
  return encoded.specials;
}

void RowsInput::compose(std::uint64_t given, std::uint64_t first, std::uint32_t elements,
                        std::byte* to) const {
  const std::size_t width = element_bytes(layout_.dtype);
  const std::uint64_t length = rows_.row_elements;
  const std::uint64_t end = first + elements;
  for (; given < rows_.indices.size(); ++given) {
    const std::uint64_t row_first = static_cast<std::uint64_t>(rows_.indices[given]) * length;
    if (row_first >= end) return;
    const std::uint64_t from = std::max(first, row_first);
    const std::uint64_t stop = std::min(end, row_first + length);
    if (from >= stop) continue;
    std::memcpy(to + (from - first) * width,
                rows_.values + (given * length + (from - row_first)) * width,
                (stop - from) * width);
  }
}

}  // namespace infold::sparse
