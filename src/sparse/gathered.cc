// SPDX-License-Identifier: Apache-2.0
//
// Runs of neighbours go through the tensor's codec together.
#include "sparse/gathered.h"

#include "core/encoded_range.h"
#include "sparse/runs.h"

namespace infold::sparse {
namespace {

// Also where all blocks lie side by side.
template <typename Visit>
void for_each_stretch(const Gathered& gathered, core::ChunkRange range, Visit&& visit) {
  if (gathered.blocks == nullptr) {
    visit(0U, range);
    return;
  }
  const auto place_of = [&](std::uint64_t block) {
    return std::uint64_t{gathered.blocks[block]} << gathered.layout.block_shift();
  };
  for_each_run(gathered.layout, range, place_of,
               [&](std::uint32_t at, std::uint64_t place, std::uint32_t elements) {
                 visit(at, core::ChunkRange{place, elements});
               });
}

bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t* codes,
            std::byte* exponents, std::byte* elements) {
  const auto& gathered = *reinterpret_cast<const Gathered*>(tensor);
  core::EncodedRange encoded{*gathered.codec, gathered.layout, codes, exponents, elements};
  for_each_stretch(gathered, range, [&](std::uint32_t at, core::ChunkRange run) {
    encoded.add_run(at, gathered.tensor, run);
  });
  encoded.finish(range.elements);
  return encoded.specials;
}

void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  const auto& gathered = *reinterpret_cast<const Gathered*>(tensor);
  for_each_stretch(gathered, range, [&](std::uint32_t at, core::ChunkRange run) {
    decode_run(*gathered.codec, gathered.layout, received, at, gathered.tensor, run);
  });
}

constexpr core::TensorCodec kCodec = {.element_bytes = 0, .encode = encode, .decode = decode};

}  // namespace

const core::TensorCodec& gathered_codec() { return kCodec; }

}  // namespace infold::sparse
