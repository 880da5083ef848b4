// SPDX-License-Identifier: Apache-2.0
//
// Runs of neighbours go through the tensor's codec together.
#include "sparse/gathered.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace infold::sparse {
namespace {

// Exponent codes of a run, and the zeros that a codec writes behind them.
using Codes = std::array<std::byte, INFOLD_BLOCKS_MAX * 2 + 4>;

struct Run {
  std::uint32_t at = 0;    // of the range's elements
  core::ChunkRange place;  // in the tensor
};

// Calls visit(run) for each stretch of the range that lies in one piece in the tensor. A range of
// integers may begin and end within a block.
template <typename Visit>
void for_each_run(const Gathered& gathered, core::ChunkRange range, Visit&& visit) {
  if (gathered.blocks == nullptr) {
    visit(Run{0, range});
    return;
  }
  const std::uint32_t shift = gathered.layout.block_shift();
  const std::uint64_t end = range.first + range.elements;
  for (std::uint64_t first = range.first; first < end;) {
    const std::uint64_t block = first >> shift;
    std::uint64_t next = block + 1;
    while (next << shift < end && gathered.blocks[next] == gathered.blocks[next - 1] + 1) ++next;
    const std::uint64_t stop = std::min(next << shift, end);
    const std::uint64_t into_block = first - (block << shift);
    visit(Run{static_cast<std::uint32_t>(first - range.first),
              {(std::uint64_t{gathered.blocks[block]} << shift) + into_block,
               static_cast<std::uint32_t>(stop - first)}});
    first = stop;
  }
}

bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t* codes,
            std::byte* exponents, std::byte* elements) {
  const auto& gathered = *reinterpret_cast<const Gathered*>(tensor);
  const core::ElementLayout layout = gathered.layout;
  const std::size_t code_bytes = layout.is_block_float() ? layout.exponent_code_bytes() : 0;
  bool specials = false;
  for_each_run(gathered, range, [&](const Run& run) {
    Codes written;
    CHECK_THAT(layout.exponent_bytes(run.place.elements), <=, written.size());
    const std::uint32_t block = run.at >> layout.block_shift();
    specials |= gathered.codec->encode(gathered.tensor, run.place,
                                       codes == nullptr ? nullptr : codes + block, written.data(),
                                       elements + std::size_t{run.at} * layout.element_bytes());
    std::copy_n(written.data(), layout.block_count(run.place.elements) * code_bytes,
                exponents + block * code_bytes);
  });
  const std::size_t end = layout.block_count(range.elements) * code_bytes;
  std::fill(exponents + end, exponents + layout.exponent_bytes(range.elements), std::byte{0});
  return specials;
}

void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  const auto& gathered = *reinterpret_cast<const Gathered*>(tensor);
  const core::ElementLayout layout = gathered.layout;
  const std::size_t code_bytes = layout.is_block_float() ? layout.exponent_code_bytes() : 0;
  for_each_run(gathered, range, [&](const Run& run) {
    const std::uint32_t block = run.at >> layout.block_shift();
    core::TensorCodec::Received part = received;
    part.exponents += block * code_bytes;
    part.elements += std::size_t{run.at} * layout.element_bytes();
    if (part.codes != nullptr) part.codes += block;
    gathered.codec->decode(gathered.tensor, run.place, part);
  });
}

constexpr core::TensorCodec kCodec = {.element_bytes = 0, .encode = encode, .decode = decode};

}  // namespace

const core::TensorCodec& gathered_codec() { return kCodec; }

}  // namespace infold::sparse
