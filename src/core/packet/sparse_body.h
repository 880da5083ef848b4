// SPDX-License-Identifier: Apache-2.0
//
// The body of a packet that leaves out zeros in one or several chunks, as whole blocks or
// as quarters. The body says how many chunks there are and which blocks each of them has,
// and then has these blocks' exponents and elements, chunk by chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/packet/packet.h"
#include "core/packet/quarters.h"

namespace infold::core {

// Checks the body. Requires: the packet has the flag SPARSE, and its header and tag are
// well-formed.
Malformed check_sparse(const Packet& packet);

// Returns the bytes before the first chunk's exponents.
constexpr std::size_t sparse_head_bytes(std::uint32_t chunks, std::uint32_t blocks) {
  return sizeof(infold_sparse) + chunks * BlockSet::wire_bytes(blocks);
}

// Goes through a checked packet chunk by chunk, and borrows it. In shared memory the sender may
// have changed the packet since the check. The reader never reads beyond the body; chunks that
// would lie there are empty.
class SparseReader {
 public:
  explicit SparseReader(const Packet& packet);

  std::uint32_t chunks() const { return chunks_; }
  // Returns the next chunk's contribution, like a packet that has only this chunk. It is valid
  // until the next call. Requires: called at most chunks() times.
  const Packet& next();

 private:
  void take_blocks();
  void take_quarters();

  Packet part_;
  BlockSet present_;
  const std::byte* set_;
  const std::byte* at_;
  std::uint32_t chunks_ = 0;
  std::uint32_t taken_ = 0;
  std::array<std::byte, INFOLD_PAYLOAD_BYTES_MAX> spread_;  // blocks that came in quarters
};

// Writes the exponents and elements of a sparse result, including its zeros. Requires:
// check_sparse() found nothing.
void spread_result(const Packet& packet, std::byte* exponents, std::byte* elements);

// Writes a body of whole blocks, one chunk after the other. The caller must write as many chunks as
// it announced.
class SparseWriter {
 public:
  // Requires: `body` has room for everything that will be written.
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

// Writes a body of quarters, with as many chunks as there is room for.
class QuartersWriter {
 public:
  explicit QuartersWriter(std::span<std::byte> body) : body_(body) {}

  // Returns whether there was room for the next chunk; if not, nothing is written.
  bool add(const Quarters& quarters, const BlocksInMemory& source);
  std::uint32_t chunks() const { return chunks_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::span<std::byte> body_;
  std::size_t bytes_ = sizeof(infold_sparse);
  std::uint32_t chunks_ = 0;
};

}  // namespace infold::core
