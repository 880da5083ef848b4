// SPDX-License-Identifier: Apache-2.0
#include "core/sparse_body.h"

#include "base/check.h"

namespace infold::core {
namespace {

infold_sparse read_head(const Packet& packet) {
  infold_sparse head;
  std::memcpy(&head, packet.body.data(), sizeof(head));
  return head;
}

// An absent block is one of zeros, which changes no sum. Specials are marked for a packet as a
// whole, so that chunks with and without them would say the same.
bool can_leave_out_blocks(const Header& header) {
  const Reduction reduction = header.words.reduction();
  return header.kind == Kind::add && reduction != Reduction::min && reduction != Reduction::max &&
         (header.flags & INFOLD_FLAG_SPECIALS) == 0 && header.words.elements > 0;
}

}  // namespace

Malformed check_sparse(const Packet& packet) {
  if (!can_leave_out_blocks(packet.header)) return Malformed::sparse;
  if (packet.body.size() < sizeof(infold_sparse)) return Malformed::truncated;
  const infold_sparse head = read_head(packet);
  const std::uint32_t chunks = infold_from_be16(head.chunks);
  if (chunks == 0 || chunks > INFOLD_SPARSE_CHUNKS_MAX || infold_from_be16(head.reserved) != 0) {
    return Malformed::sparse;
  }
  const ElementLayout layout = packet.header.words.layout();
  const std::uint32_t blocks = layout.block_count(packet.header.words.elements);
  std::size_t expected = sparse_head_bytes(chunks, blocks);
  if (packet.body.size() < expected) return Malformed::truncated;
  const std::byte* set = packet.body.data() + sizeof(head);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk, set += BlockSet::wire_bytes(blocks)) {
    const BlockSet present = BlockSet::read(set, blocks);
    if (present.reaches_beyond(blocks)) return Malformed::sparse;
    expected += present.payload_bytes(layout, packet.header.words.elements);
  }
  if (packet.body.size() < expected) return Malformed::truncated;
  return packet.body.size() > expected ? Malformed::oversized : Malformed::none;
}

SparseReader::SparseReader(const Packet& packet)
    : part_(packet),
      set_(packet.body.data() + sizeof(infold_sparse)),
      chunks_(infold_from_be16(read_head(packet).chunks)) {
  const ChunkWords& words = packet.header.words;
  at_ = packet.body.data() + sparse_head_bytes(chunks_, words.layout().block_count(words.elements));
  part_.present = &present_;
  part_.is_bundled = chunks_ > 1;
}

const Packet& SparseReader::next() {
  CHECK_THAT(taken_, <, chunks_);
  if (taken_++ > 0) ++part_.header.slot;
  const ElementLayout layout = part_.header.words.layout();
  const std::uint32_t blocks = layout.block_count(part_.header.words.elements);
  present_ = BlockSet::read(set_, blocks);
  set_ += BlockSet::wire_bytes(blocks);
  part_.exponents = at_;
  part_.elements = at_ + present_.exponent_bytes(layout);
  at_ += present_.payload_bytes(layout, part_.header.words.elements);
  return part_;
}

SparseWriter::SparseWriter(std::byte* body, ElementLayout layout, std::uint32_t chunk_elements,
                           std::uint32_t chunks)
    : body_(body),
      set_(body + sizeof(infold_sparse)),
      at_(body + sparse_head_bytes(chunks, layout.block_count(chunk_elements))),
      layout_(layout),
      chunk_elements_(chunk_elements) {
  const infold_sparse head = {infold_to_be16(static_cast<std::uint16_t>(chunks)), {}};
  std::memcpy(body, &head, sizeof(head));
}

SparseWriter::Part SparseWriter::next(const BlockSet& present) {
  const std::uint32_t blocks = layout_.block_count(chunk_elements_);
  present.write(set_, blocks);
  set_ += BlockSet::wire_bytes(blocks);
  const Part part = {at_, at_ + present.exponent_bytes(layout_)};
  at_ += present.payload_bytes(layout_, chunk_elements_);
  return part;
}

}  // namespace infold::core
