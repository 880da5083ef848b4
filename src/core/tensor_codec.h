// SPDX-License-Identifier: Apache-2.0
//
// How a tensor in memory becomes elements on the wire and back, one chunk at a time. The worker
// calls it; src/numeric makes one constant table for each pairing of data type, wire format and
// reduction. A table holds no state, so any thread may use it. What one transfer's codec has to
// know beyond the tensor's address is its context, which the transfer's owner keeps
// (TransferRequest::context).
#pragma once

#include <cstddef>
#include <cstdint>

namespace infold::core {

// A stretch of a tensor. `first` is a multiple of the block length, because scale blocks are
// anchored to the tensor's first element and a chunk holds whole blocks.
struct ChunkRange {
  std::uint64_t first = 0;
  std::uint32_t elements = 0;
};

struct TensorCodec {
  // Bytes of one element in memory. 0 where the context alone knows where elements are.
  std::uint32_t element_bytes = 0;

  // A rank's drivers call both at once, for ranges of their own chunks.
  //
  // Writes the range's exponent codes and elements and returns whether a NaN or infinity code is
  // among them. `exponents` has room for exponent_bytes(...), padding included, which is written
  // as zeros. `codes`, one per block of the range, or null: for a block format the coarsest-unit
  // floor of a realigned chunk; for agreed exponents the agreed code.
  bool (*encode)(const void* context, const std::byte* tensor, ChunkRange range,
                 const std::uint16_t* codes, std::byte* exponents, std::byte* elements) = nullptr;

  struct Received {
    const std::byte* exponents = nullptr;
    const std::byte* elements = nullptr;
    const std::uint16_t* codes = nullptr;  // agreed codes, where the format has them
    std::uint32_t divisor = 1;             // the number of summed ranks, for an average
    bool specials = false;
    bool is_long = false;  // the tensor exceeds caches, so results need not pass through them
  };

  // Writes the range of `tensor` from what arrived.
  void (*decode)(void* context, std::byte* tensor, ChunkRange range,
                 const Received& received) = nullptr;

  // decode() writes the results of long tensors around the caches.
  bool streams = false;
  // Elements on the wire are the tensor's bytes, and encode() only copies them.
  bool copies = false;
};

}  // namespace infold::core
