// SPDX-License-Identifier: Apache-2.0
//
// The body of a contribution that leaves out blocks of zeros, of one or several chunks: how
// many chunks, which blocks of each, and these blocks' exponents and elements, chunk by chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/packet.h"

namespace infold::core {

// Of a packet with the flag whose header and tag are in order.
Malformed check_sparse(const Packet& packet);

// Bytes before the first chunk's exponents.
constexpr std::size_t sparse_head_bytes(std::uint32_t chunks, std::uint32_t blocks) {
  return sizeof(infold_sparse) + chunks * BlockSet::wire_bytes(blocks);
}

// Goes through a checked packet, chunk by chunk. Borrows it.
class SparseReader {
 public:
  explicit SparseReader(const Packet& packet);

  std::uint32_t chunks() const { return chunks_; }
  // The next chunk's contribution, as if it had come alone; valid until the next call.
  // Requires: called at most chunks() times.
  const Packet& next();

 private:
  Packet part_;
  BlockSet present_;
  const std::byte* set_;
  const std::byte* at_;
  std::uint32_t chunks_ = 0;
  std::uint32_t taken_ = 0;
};

// Writes such a body: one chunk after the other, as many as were announced.
class SparseWriter {
 public:
  // `body` has room for all that will be written.
  SparseWriter(std::byte* body, ElementLayout layout, std::uint32_t chunk_elements,
               std::uint32_t chunks);

  // Where the blocks of the next chunk go, side by side.
  struct Part {
    std::byte* exponents;
    std::byte* elements;
  };
  Part next(const BlockSet& present);
  std::size_t bytes() const { return static_cast<std::size_t>(at_ - body_); }

 private:
  std::byte* body_;
  std::byte* set_;
  std::byte* at_;
  ElementLayout layout_;
  std::uint32_t chunk_elements_;
};

}  // namespace infold::core
