// SPDX-License-Identifier: Apache-2.0
//
// Turns a tensor in memory into elements on the wire and back, one chunk at a time. The worker
// calls it; src/numeric makes one constant table for each combination of data type, wire format and
// reduction. A table holds no state, so any thread may use it. Whatever else a transfer's codec
// must know is in a context that the transfer's owner keeps (TransferRequest::context).
#pragma once

#include <cstddef>
#include <cstdint>

namespace infold::core {

// A stretch of a tensor. `first` is a multiple of the block length, because blocks are counted from
// the tensor's first element and a chunk holds whole blocks.
struct ChunkRange {
  std::uint64_t first = 0;
  std::uint32_t elements = 0;
};

struct TensorCodec {
  // Bytes of one element in memory, or 0 if only the context knows where elements are.
  std::uint32_t element_bytes = 0;

  // A rank's drivers may call encode() and decode() at the same time, for ranges of their own
  // chunks.
  //
  // Writes the range's exponent codes and elements, and returns whether the code of a NaN or
  // infinity is among them. `exponents` has room for exponent_bytes(...) with the padding, which is
  // written as zeros. `codes` is null or has one code per block of the range: in a block format the
  // lowest allowed code of a realigned chunk, and with agreed exponents the agreed code
  //
  bool (*encode)(const void* context, const std::byte* tensor, ChunkRange range,
                 const std::uint16_t* codes, std::byte* exponents, std::byte* elements) = nullptr;

  struct Received {
    const std::byte* exponents = nullptr;
    const std::byte* elements = nullptr;
    const std::uint16_t* codes = nullptr;  // agreed codes, if the format has them
    std::uint32_t divisor = 1;             // the number of summed ranks, for an average
    bool specials = false;
    bool is_long = false;  // the tensor does not fit the caches, so results may bypass them
  };

  // Decodes what arrived into the range of `tensor`.
  void (*decode)(void* context, std::byte* tensor, ChunkRange range,
                 const Received& received) = nullptr;

  // Whether decode() bypasses the caches when it writes the results of long tensors.
  bool streams = false;
  // Whether elements on the wire are the tensor's own bytes, so that encode() only copies them.
  bool copies = false;
};

}  // namespace infold::core
