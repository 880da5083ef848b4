// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are neighbours in the tensor go through its codec together.
#include "sparse/gathered.h"

#include <algorithm>
#include <atomic>

#include "core/encoded_range.h"
#include "core/near_memory.h"
#include "sparse/runs.h"

namespace infold::sparse {
namespace {

// Calls visit(at, range) for each run of neighbouring blocks, or only once if all lie side by side.
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

// How far ahead blocks are prefetched, in bytes of the gathered tensor. It is the length of some
// packets, so that a row has arrived when its turn comes. Rows are far apart, and waiting for them
// took a third of the time to pack packets.
constexpr std::size_t kAheadBytes = 8192;

void ask_ahead(const Gathered& gathered, core::ChunkRange range) {
  const std::uint32_t shift = gathered.layout.block_shift();
  const std::size_t block_bytes = element_bytes(gathered.layout.dtype) << shift;
  const std::uint64_t end = std::min(
      gathered.block_count, ((range.first + range.elements) >> shift) + kAheadBytes / block_bytes);
  // Two drivers may prefetch the same block, which costs little.
  const std::atomic_ref<std::uint64_t> asked_until(gathered.asked_until);
  const std::uint64_t asked = asked_until.load(std::memory_order_relaxed);
  for (std::uint64_t i = std::max(asked, range.first >> shift); i < end; ++i) {
    if ((gathered.own[i / 32] >> i % 32 & 1) == 0) continue;
    core::bring_near(gathered.tensor + gathered.blocks[i] * block_bytes, block_bytes);
  }
  asked_until.store(std::max(asked, end), std::memory_order_relaxed);
}

}  // namespace

bool Gathered::encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
                      std::byte* elements) const {
  ask_ahead(*this, range);
  core::EncodedRange encoded{*codec, nullptr, layout, codes, exponents, elements};
  for_each_stretch(*this, range, [&](std::uint32_t at, core::ChunkRange run) {
    encoded.add_run(at, tensor, run);
  });
  encoded.finish(range.elements);
  return encoded.specials;
}

void Gathered::decode(core::ChunkRange range, const core::TensorCodec::Received& received) const {
  for_each_stretch(*this, range, [&](std::uint32_t at, core::ChunkRange run) {
    decode_run(*codec, layout, received, at, tensor, run);
  });
}

}  // namespace infold::sparse
