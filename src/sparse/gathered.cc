// SPDX-License-Identifier: Apache-2.0
//
// Runs of neighbours go through the tensor's codec together.
#include "sparse/gathered.h"

#include <algorithm>

#include "sparse/runs.h"

namespace infold::sparse {
namespace {

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
  EncodedRange encoded{*gathered.codec, gathered.layout, codes, exponents, elements};
  for_each_run(gathered, range,
               [&](const Run& run) { encoded.add_run(run.at, gathered.tensor, run.place); });
  encoded.finish(range.elements);
  return encoded.specials;
}

void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  const auto& gathered = *reinterpret_cast<const Gathered*>(tensor);
  for_each_run(gathered, range, [&](const Run& run) {
    decode_run(*gathered.codec, gathered.layout, received, run.at, gathered.tensor, run.place);
  });
}

constexpr core::TensorCodec kCodec = {.element_bytes = 0, .encode = encode, .decode = decode};

}  // namespace

const core::TensorCodec& gathered_codec() { return kCodec; }

}  // namespace infold::sparse
