// SPDX-License-Identifier: Apache-2.0
//
// Contributions without their blocks of zeros. Thin ones share a packet, a bundle, where
// they are for chunks on slots that follow each other: a packet's headers would otherwise weigh as
// much as what is in it. So that bundles become full, chunks wait while more than half of the
// window is in flight. What then comes back makes room for more of them; the oldest chunk that
// lacks a contribution waits at nobody for longer, because all before it are complete.
#include <algorithm>

#include "core/encoded_range.h"
#include "core/worker_state.h"

namespace infold::core {

bool Worker::State::leaves_out_zeros(const Flow& flow, const Transfer& transfer) const {
  return transfer.request.present != nullptr && transfer.contributes &&
         options_.sites[flow.site].takes_sparse;
}

BlockSet Worker::State::present_in(const Transfer& transfer, std::uint64_t chunk) const {
  const ElementLayout layout = transfer.request.layout;
  const std::uint64_t first = chunk * transfer.chunk_elements;
  const auto elements = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(transfer.request.elements - first, transfer.chunk_elements));
  const std::uint64_t first_block = first >> layout.block_shift();
  BlockSet set =
      BlockSet::slice(transfer.request.present, first_block, layout.block_count(elements));
  // Chunks of integers may begin within one of the tensor's blocks: each of theirs lies in two.
  const std::uint64_t into_block = first - (first_block << layout.block_shift());
  if (into_block == 0) return set;
  const std::uint32_t touched =
      layout.block_count(static_cast<std::uint32_t>(into_block + elements));
  set |= BlockSet::slice(transfer.request.present, first_block + 1, touched - 1);
  return set;
}

// How many of the flow's next chunks go into one packet; one, if that is not to be a bundle.
// Requires: may_send_next().
Worker::State::Bundle Worker::State::plan_bundle(const Flow& flow, bool pauses) const {
  const Transfer& transfer = streams_[flow.stream].at(flow.next_transfer);
  if (!leaves_out_zeros(flow, transfer)) return {1, false};
  const ElementLayout layout = transfer.request.layout;
  const std::uint32_t elements = transfer.chunk_elements;
  const std::uint32_t blocks = layout.block_count(elements);
  const std::uint64_t whole_chunks = transfer.request.elements / elements;
  const std::uint32_t window = pauses ? 1 : flow.window.size();
  const bool half_is_out = flow.in_flight * 2 > window;
  const std::uint32_t round = flow.slots[flow.next_slot].round;

  std::size_t bytes = INFOLD_HEADER_BYTES + sizeof(infold_sparse);
  Stripe::Cursor next = flow.next_chunk;
  for (std::uint32_t chunks = 0; chunks < INFOLD_SPARSE_CHUNKS_MAX; ++chunks) {
    const std::uint64_t chunk = stripe_.chunk_at(flow.site, next) - transfer.first_chunk;
    const std::size_t index = std::size_t{flow.next_slot} + chunks;
    const bool is_last = chunk >= whole_chunks || index >= flow.slots.size();
    if (is_last) return {std::max(chunks, 1U), false};
    const bool has_room = flow.in_flight + chunks < window;
    if (!has_room || flow.slots[index].state != WorkerSlot::State::idle) {
      const bool is_full = bytes + bytes / chunks > options_.limits.datagram_bytes_max;
      return {chunks, half_is_out && !is_full};
    }
    if (flow.slots[index].round != round) return {chunks, false};
    bytes +=
        BlockSet::wire_bytes(blocks) + present_in(transfer, chunk).payload_bytes(layout, elements);
    if (bytes > options_.limits.datagram_bytes_max) return {std::max(chunks, 1U), false};
    stripe_.step(flow.site, next);
  }
  return {INFOLD_SPARSE_CHUNKS_MAX, false};
}

// Chunks with specials go alone and whole.
Worker::Transmit Worker::State::send_bundle(Flow& flow, std::uint32_t chunks, bool pauses,
                                            base::Instant now, std::span<std::byte> out) {
  const std::uint16_t first = take_next_chunk(flow, pauses);
  for (std::uint32_t i = 1; i < chunks; ++i) take_next_chunk(flow, pauses);
  std::uint32_t planned = chunks;
  std::uint32_t encoded = 0;
  std::size_t bytes = 0;
  while (planned > 1) {
    const Chunk chunk = chunk_on(flow, first);
    SparseWriter writer(out.data() + INFOLD_HEADER_BYTES, chunk.transfer.request.layout,
                        chunk.range.elements, planned);
    encoded = encode_bundle(flow, first, planned, writer);
    bytes = INFOLD_HEADER_BYTES + writer.bytes();
    if (encoded == planned) break;
    planned = std::max(encoded, 1U);
  }
  for (std::uint32_t i = planned; i < chunks; ++i) {
    const auto index = static_cast<std::uint16_t>(first + i);
    flow.slots[index].state = WorkerSlot::State::resending;
    flow.resending.push_back(flow.slots, index);
  }
  if (planned == 1) return send_chunk(flow, first, now, out);

  Header header = header_of(chunk_on(flow, first), Kind::add);
  header.flags |= INFOLD_FLAG_SPARSE;
  write_header(header, out);
  counters_.sent_data += planned;
  counters_.sent_bundled += planned;
  for (std::uint32_t i = 0; i < planned; ++i) {
    note_sent(flow, static_cast<std::uint16_t>(first + i), now);
  }
  return {flow.site, bytes};
}

// Of a chunk that goes alone; nothing where that would not make it smaller.
std::optional<std::size_t> Worker::State::write_sparse(const Chunk& chunk,
                                                       std::span<std::byte> out) {
  if (!leaves_out_zeros(chunk.flow, chunk.transfer) || chunk.slot.realigned) return std::nullopt;
  const ElementLayout layout = chunk.transfer.request.layout;
  const std::uint32_t elements = chunk.range.elements;
  const BlockSet present = present_in(chunk.transfer, chunk.slot.chunk);
  const std::size_t body =
      sparse_head_bytes(1, layout.block_count(elements)) + present.payload_bytes(layout, elements);
  if (body >= layout.payload_bytes(elements)) return std::nullopt;
  SparseWriter writer(out.data() + INFOLD_HEADER_BYTES, layout, elements, 1);
  if (encode_present(chunk, present, writer.next(present))) return std::nullopt;
  Header header = header_of(chunk, Kind::add);
  header.flags |= INFOLD_FLAG_SPARSE;
  write_header(header, out);
  return INFOLD_HEADER_BYTES + body;
}

// How many, up to the first with specials.
std::uint32_t Worker::State::encode_bundle(Flow& flow, std::uint16_t first, std::uint32_t chunks,
                                           SparseWriter& writer) {
  for (std::uint32_t i = 0; i < chunks; ++i) {
    const Chunk chunk = chunk_on(flow, static_cast<std::uint16_t>(first + i));
    const BlockSet present = present_in(chunk.transfer, chunk.slot.chunk);
    if (encode_present(chunk, present, writer.next(present))) return i;
  }
  return chunks;
}

// Returns whether a special is among the elements.
bool Worker::State::encode_present(const Chunk& chunk, const BlockSet& present,
                                   SparseWriter::Part part) const {
  const TransferRequest& request = chunk.transfer.request;
  const ElementLayout layout = request.layout;
  EncodedRange encoded{*request.codec, layout, nullptr, part.exponents, part.elements};
  std::uint32_t at = 0;
  present.for_each_run([&](std::uint32_t block, std::uint32_t blocks) {
    const std::uint32_t first = block << layout.block_shift();
    const std::uint32_t elements =
        std::min(blocks << layout.block_shift(), chunk.range.elements - first);
    encoded.add_run(at, request.input, {chunk.range.first + first, elements});
    at += elements;
  });
  encoded.finish(at);
  return encoded.specials && layout.is_block_float();
}

}  // namespace infold::core
