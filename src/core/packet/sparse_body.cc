// SPDX-License-Identifier: Apache-2.0
#include "core/packet/sparse_body.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"

namespace infold::core {
namespace {

infold_sparse read_head(const Packet& packet) {
  infold_sparse head;
  std::memcpy(&head, packet.body.data(), sizeof(head));
  return head;
}

void write_head(std::uint32_t chunks, infold_grain grain, std::byte* body) {
  const infold_sparse head = {infold_to_be16(static_cast<std::uint16_t>(chunks)),
                              static_cast<std::uint8_t>(grain), 0};
  std::memcpy(body, &head, sizeof(head));
}

// Absent elements are zero, which does not change a sum. Specials are not allowed, because the flag
// marks a whole packet, and would also mark chunks without specials.
bool may_be_sparse(const Header& header) {
  const Reduction reduction = header.signature.reduction();
  const bool has_sum = header.kind == Kind::add || header.kind == Kind::result;
  return has_sum && header.contributors.count != 0 && reduction != Reduction::min &&
         reduction != Reduction::max && (header.flags & INFOLD_FLAG_SPECIALS) == 0 &&
         header.signature.elements > 0;
}

Malformed check_blocks(const Packet& packet, std::uint32_t chunks) {
  const ElementLayout layout = packet.header.signature.layout();
  const std::uint32_t blocks = layout.block_count(packet.header.signature.elements);
  std::size_t expected = sparse_head_bytes(chunks, blocks);
  if (packet.body.size() < expected) return Malformed::truncated;
  const std::byte* set = packet.body.data() + sizeof(infold_sparse);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk, set += BlockSet::wire_bytes(blocks)) {
    const BlockSet present = BlockSet::read(set, blocks);
    if (present.reaches_beyond(blocks)) return Malformed::sparse;
    const std::size_t start = expected;
    expected += present.payload_bytes(layout, packet.header.signature.elements);
    if (packet.body.size() < expected) return Malformed::truncated;
    if (!layout.is_block_float()) continue;
    const Malformed codes = check_codes(layout, packet.body.data() + start, present.count(), 4);
    if (codes != Malformed::none) return codes;
  }
  return packet.body.size() > expected ? Malformed::oversized : Malformed::none;
}

Malformed check_quarters(const Packet& packet, std::uint32_t chunks) {
  const ChunkSignature& signature = packet.header.signature;
  std::span<const std::byte> left = packet.body.subspan(sizeof(infold_sparse));
  for (; chunks > 0; --chunks) {
    const auto view = QuartersView::parse(signature.layout(), signature.elements, left);
    if (!view) return Malformed::sparse;
    left = left.subspan(view->bytes());
  }
  return left.empty() ? Malformed::none : Malformed::oversized;
}

}  // namespace

// A sparse result leaves out quarters, and has only one chunk.
Malformed check_sparse(const Packet& packet) {
  if (!may_be_sparse(packet.header)) return Malformed::sparse;
  if (packet.body.size() < sizeof(infold_sparse)) return Malformed::truncated;
  const infold_sparse head = read_head(packet);
  const std::uint32_t chunks = infold_from_be16(head.chunks);
  const bool in_quarters = head.grain == INFOLD_GRAIN_QUARTERS;
  if (chunks == 0 || chunks > INFOLD_SPARSE_CHUNKS_MAX) return Malformed::sparse;
  if (head.grain >= INFOLD_GRAIN_COUNT || head.reserved != 0) return Malformed::sparse;
  if (packet.header.kind == Kind::result && (chunks != 1 || !in_quarters)) return Malformed::sparse;
  return in_quarters ? check_quarters(packet, chunks) : check_blocks(packet, chunks);
}

SparseReader::SparseReader(const Packet& packet) : part_(packet) {
  const ChunkSignature& signature = packet.header.signature;
  const std::uint32_t blocks = signature.layout().block_count(signature.elements);
  const infold_sparse head = read_head(packet);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the head must be read only once
  chunks_ = std::clamp<std::uint32_t>(infold_from_be16(head.chunks), 1, INFOLD_SPARSE_CHUNKS_MAX);
  part_.in_quarters = head.grain == INFOLD_GRAIN_QUARTERS;
  if (!part_.in_quarters && sparse_head_bytes(chunks_, blocks) > packet.body.size()) {
    chunks_ = 1;
    part_.in_quarters = true;  // the reader of quarters checks each chunk again
  }
  part_.present = &present_;
  part_.is_bundled = chunks_ > 1;
  set_ = packet.body.data() + sizeof(infold_sparse);
  at_ = part_.in_quarters ? set_ : packet.body.data() + sparse_head_bytes(chunks_, blocks);
}

const Packet& SparseReader::next() {
  CHECK_THAT(taken_, <, chunks_);
  if (taken_++ > 0) ++part_.header.slot;
  if (part_.in_quarters) {
    take_quarters();
  } else {
    take_blocks();
  }
  return part_;
}

void SparseReader::take_blocks() {
  const ElementLayout layout = part_.header.signature.layout();
  const std::uint32_t blocks = layout.block_count(part_.header.signature.elements);
  const auto left = static_cast<std::size_t>(part_.body.data() + part_.body.size() - at_);
  present_ = BlockSet::read(set_, blocks);
  set_ += BlockSet::wire_bytes(blocks);
  const bool fits = !present_.reaches_beyond(blocks) &&
                    present_.payload_bytes(layout, part_.header.signature.elements) <= left;
  if (!fits) present_ = {};
  part_.exponents = at_;
  part_.elements = at_ + present_.exponent_bytes(layout);
  at_ += present_.payload_bytes(layout, part_.header.signature.elements);
}

void SparseReader::take_quarters() {
  const ChunkSignature& signature = part_.header.signature;
  const std::byte* const end = part_.body.data() + part_.body.size();
  const auto view = QuartersView::parse(signature.layout(), signature.elements, {at_, end});
  if (!view) {
    present_ = {};
    part_.exponents = part_.elements = spread_.data();
    return;
  }
  present_ = view->blocks();
  view->spread_blocks(spread_.data());
  part_.exponents = view->exponents();
  part_.elements = spread_.data();
  at_ += view->bytes();
}

void spread_result(const Packet& packet, std::byte* exponents, std::byte* elements) {
  const ChunkSignature& signature = packet.header.signature;
  const auto view = QuartersView::parse(signature.layout(), signature.elements,
                                        packet.body.subspan(sizeof(infold_sparse)));
  if (view) return view->spread_chunk(exponents, elements);
  std::fill_n(exponents, signature.layout().exponent_bytes(signature.elements), std::byte{0});
  std::fill_n(elements, signature.elements * signature.layout().element_bytes(), std::byte{0});
}

SparseWriter::SparseWriter(std::byte* body, ElementLayout layout, std::uint32_t chunk_elements,
                           std::uint32_t chunks)
    : body_(body),
      set_(body + sizeof(infold_sparse)),
      at_(body + sparse_head_bytes(chunks, layout.block_count(chunk_elements))),
      layout_(layout),
      chunk_elements_(chunk_elements) {
  write_head(chunks, INFOLD_GRAIN_BLOCKS, body);
}

SparseWriter::Part SparseWriter::next(const BlockSet& present) {
  const std::uint32_t blocks = layout_.block_count(chunk_elements_);
  present.write(set_, blocks);
  set_ += BlockSet::wire_bytes(blocks);
  const Part part = {at_, at_ + present.exponent_bytes(layout_)};
  at_ += present.payload_bytes(layout_, chunk_elements_);
  return part;
}

bool QuartersWriter::add(const Quarters& quarters, const BlocksInMemory& source) {
  if (chunks_ == INFOLD_SPARSE_CHUNKS_MAX) return false;
  if (bytes_ + quarters.bytes() > body_.size()) return false;
  quarters.write(source, body_.data() + bytes_);
  bytes_ += quarters.bytes();
  write_head(++chunks_, INFOLD_GRAIN_QUARTERS, body_.data());
  return true;
}

}  // namespace infold::core
