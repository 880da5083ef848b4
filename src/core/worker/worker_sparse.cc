// SPDX-License-Identifier: Apache-2.0
//
// Sends contributions without their blocks of zeros. If that takes fewer bytes, which is
// known once a chunk is encoded, they also leave out quarters of blocks. Thin contributions
// to chunks on consecutive slots share a packet, a bundle, because a packet's headers would
// otherwise be as large as its content. So that bundles become full, chunks wait while more than
// half of the window is in flight. Results that come back then make room for more chunks. No rank
// holds back the oldest chunk that lacks a contribution for longer than that, because all chunks
// before it are complete.
#include <algorithm>

#include "base/check.h"
#include "core/encoded_range.h"
#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

// Chunks in quarters are estimated to be as thin as the last ones, give or take an eighth of a
// packet.
constexpr std::size_t kEstimateSlack = 8;

}  // namespace

bool Worker::State::sends_sparse(const Flow& flow, const Transfer& transfer) const {
  return transfer.request.present != nullptr && transfer.contributes && !transfer.is_widened() &&
         options_.sites[flow.site].takes_sparse && !options_.sites[flow.site].is_big_endian;
}

BlockSet Worker::State::present_in(const Transfer& transfer, std::uint64_t chunk) const {
  const ElementLayout layout = transfer.request.layout;
  const std::uint64_t first = chunk * transfer.chunk_elements;
  const auto elements = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(transfer.request.elements - first, transfer.chunk_elements));
  const std::uint64_t first_block = first >> layout.block_shift();
  BlockSet set =
      BlockSet::slice(transfer.request.present, first_block, layout.block_count(elements));
  // Chunks of integers may begin inside one of the tensor's blocks. Each of the chunk's blocks then
  // lies in two blocks of the tensor.
  const std::uint64_t into_block = first - (first_block << layout.block_shift());
  if (into_block == 0) return set;
  const std::uint32_t touched =
      layout.block_count(static_cast<std::uint32_t>(into_block + elements));
  set |= BlockSet::slice(transfer.request.present, first_block + 1, touched - 1);
  return set;
}

// Returns how many of the flow's next chunks go into one packet: one if the packet will not be a
// bundle. With chunks in quarters the number may be too large, because their bytes are an estimate.
// Requires: may_send_next().
Worker::State::Bundle Worker::State::plan_bundle(Flow& flow, bool pauses) const {
  const Transfer& transfer = streams_[flow.stream].at(flow.next_transfer);
  if (!sends_sparse(flow, transfer)) return {1, false};
  const ElementLayout layout = transfer.request.layout;
  const std::uint32_t elements = transfer.chunk_elements;
  const std::uint32_t blocks = layout.block_count(elements);
  const std::uint64_t whole_chunks = transfer.request.elements / elements;
  const std::uint32_t window = pauses ? 1 : flow.window.size();
  const bool half_is_out = flow.in_flight * 2 > window;
  const std::uint32_t round = flow.slots[flow.next_slot].round;
  const std::size_t full = options_.limits.datagram_bytes_max;
  const std::size_t most = flow.grain < kWholeBlocks ? full + full / kEstimateSlack : full;

  BundlePlan& plan = flow.plan;
  if (plan.chunks == 0) plan = {0, INFOLD_HEADER_BYTES + sizeof(infold_sparse), flow.next_chunk};
  while (plan.chunks < INFOLD_SPARSE_CHUNKS_MAX) {
    const std::uint64_t chunk = stripe_.chunk_at(flow.site, plan.next) - transfer.first_chunk;
    const std::size_t index = std::size_t{flow.next_slot} + plan.chunks;
    const bool is_last = chunk >= whole_chunks || index >= flow.slots.size();
    if (is_last) return {std::max(plan.chunks, 1U), false};
    const bool has_room = flow.in_flight + plan.chunks < window;
    if (!has_room || flow.slots[index].state != WorkerSlot::State::idle) {
      const bool is_full = plan.bytes + plan.bytes / plan.chunks > full;
      return {plan.chunks, half_is_out && !is_full};
    }
    if (flow.slots[index].round != round) return {plan.chunks, false};
    const std::size_t held = present_in(transfer, chunk).payload_bytes(layout, elements);
    const std::size_t bytes =
        plan.bytes + BlockSet::wire_bytes(blocks) + held * flow.grain / kWholeBlocks;
    if (bytes > most) return {std::max(plan.chunks, 1U), false};
    plan.bytes = bytes;
    ++plan.chunks;
    stripe_.step(flow.site, plan.next);
  }
  return {INFOLD_SPARSE_CHUNKS_MAX, false};
}

// Rounds up, so that whole blocks are used unless quarters save at least a sixteenth.
void Worker::State::note_grain(Flow& flow, std::size_t in_quarters, std::size_t in_blocks) {
  const std::size_t share = (in_quarters * kWholeBlocks + in_blocks - 1) / in_blocks;
  flow.grain = static_cast<std::uint8_t>(std::min<std::size_t>(share, kWholeBlocks));
  flow.plan = {};
}

// Sends a bundle. Chunks with specials go alone and whole.
Worker::Transmit Worker::State::send_bundle(Flow& flow, std::uint32_t chunks, bool pauses,
                                            base::Instant now, std::span<std::byte> out) {
  const std::uint16_t first = flow.next_slot;
  const std::span<std::byte> body =
      out.first(options_.limits.datagram_bytes_max).subspan(INFOLD_HEADER_BYTES);
  if (flow.grain < kWholeBlocks) {
    QuartersWriter writer(body);
    const std::size_t in_blocks = take_in_quarters(flow, chunks, pauses, writer);
    chunks = writer.chunks();
    if (chunks == 0) take_next_chunk(flow, pauses);
    if (chunks < 2) return send_chunk(flow, first, now, out);
    note_grain(flow, writer.bytes(), in_blocks);
    if (writer.bytes() < in_blocks) {
      return finish_bundle(flow, first, chunks, writer.bytes(), now, out);
    }
  } else {
    for (std::uint32_t i = 0; i < chunks; ++i) take_next_chunk(flow, pauses);
  }
  std::uint32_t planned = chunks;
  std::size_t bytes = 0;
  std::size_t in_quarters = 0;
  while (planned > 1) {
    const Chunk chunk = chunk_on(flow, first);
    SparseWriter writer(body.data(), chunk.transfer.request.layout, chunk.range.elements, planned);
    in_quarters = sizeof(infold_sparse);
    const std::uint32_t encoded = encode_bundle(flow, first, planned, writer, in_quarters);
    bytes = writer.bytes();
    if (encoded == planned) break;
    planned = std::max(encoded, 1U);
  }
  for (std::uint32_t i = planned; i < chunks; ++i) {
    const auto index = static_cast<std::uint16_t>(first + i);
    flow.slots[index].state = WorkerSlot::State::resending;
    flow.resending.push_back(flow.slots, index);
  }
  if (planned == 1) return send_chunk(flow, first, now, out);
  note_grain(flow, in_quarters, bytes);
  if (flow.grain < kWholeBlocks) {  // the first packet in quarters; the next will be full
    QuartersWriter writer(body);
    for (std::uint32_t i = 0; i < planned; ++i) {
      const Chunk chunk = chunk_on(flow, static_cast<std::uint16_t>(first + i));
      CHECK(add_in_quarters(chunk, present_in(chunk.transfer, chunk.slot.chunk), writer));
    }
    bytes = writer.bytes();
  }
  return finish_bundle(flow, first, planned, bytes, now, out);
}

Worker::Transmit Worker::State::finish_bundle(Flow& flow, std::uint16_t first, std::uint32_t chunks,
                                              std::size_t body, base::Instant now,
                                              std::span<std::byte> out) {
  Header header = header_of(chunk_on(flow, first), Kind::add);
  header.flags |= INFOLD_FLAG_SPARSE;
  write_header(header, out);
  counters_.sent_data += chunks;
  counters_.sent_bundled += chunks;
  for (std::uint32_t i = 0; i < chunks; ++i) {
    note_sent(flow, static_cast<std::uint16_t>(first + i), now);
  }
  return {flow.site, INFOLD_HEADER_BYTES + body};
}

// Writes as many of the next chunks as fit, up to the first with specials, and puts each on its
// slot. Returns the bytes that a body of their whole blocks would have taken.
std::size_t Worker::State::take_in_quarters(Flow& flow, std::uint32_t chunks, bool pauses,
                                            QuartersWriter& writer) {
  Transfer& transfer = streams_[flow.stream].at(flow.next_transfer);
  const ElementLayout layout = transfer.request.layout;
  const std::uint32_t elements = transfer.chunk_elements;
  std::size_t in_blocks = sizeof(infold_sparse);
  for (std::uint32_t taken = 0; taken < chunks; ++taken) {
    const std::uint64_t number =
        stripe_.chunk_at(flow.site, flow.next_chunk) - transfer.first_chunk;
    const BlockSet present = present_in(transfer, number);
    const Chunk chunk = {
        flow, flow.slots[flow.next_slot], flow.next_slot, transfer, {number * elements, elements}};
    if (!add_in_quarters(chunk, present, writer)) break;
    in_blocks += BlockSet::wire_bytes(layout.block_count(elements)) +
                 present.payload_bytes(layout, elements);
    take_next_chunk(flow, pauses);
  }
  return in_blocks;
}

// Returns false if the chunk has specials or does not fit.
bool Worker::State::add_in_quarters(const Chunk& chunk, const BlockSet& present,
                                    QuartersWriter& writer) {
  const ElementLayout layout = chunk.transfer.request.layout;
  std::byte* const elements = chunk_.data() + present.exponent_bytes(layout);
  if (encode_present(chunk, present, {chunk_.data(), elements})) return false;
  const BlocksInMemory source = {present, chunk_.data(), elements};
  return writer.add(Quarters(layout, chunk.range.elements, source), source);
}

// Writes a chunk that goes alone, in the form that takes the fewest bytes.
std::size_t Worker::State::write_thin(const Chunk& chunk, std::span<std::byte> out) {
  const ElementLayout layout = chunk.transfer.request.layout;
  const std::uint32_t elements = chunk.range.elements;
  const std::uint32_t blocks = layout.block_count(elements);
  BlockSet held = present_in(chunk.transfer, chunk.slot.chunk);
  std::byte* const body = out.data() + INFOLD_HEADER_BYTES;
  std::size_t bytes = sparse_head_bytes(1, blocks) + held.payload_bytes(layout, elements);
  const bool leaves_out_blocks = bytes < layout.payload_bytes(elements);
  SparseWriter::Part part = {body, body + layout.exponent_bytes(elements)};
  if (leaves_out_blocks) {
    part = SparseWriter(body, layout, elements, 1).next(held);
    if (encode_present(chunk, held, part)) return write_whole(chunk, out);
    expect_next_chunk(chunk.flow);
  } else {
    held = BlockSet::all(blocks);
    bytes = write_whole(chunk, out) - INFOLD_HEADER_BYTES;
    const auto flags = std::to_integer<unsigned>(out[offsetof(infold_header, flags)]);
    const bool has_specials = (flags & INFOLD_FLAG_SPECIALS) != 0;
    if (has_specials || Quarters::keep_all(layout, {part.elements, body + bytes})) {
      note_grain(chunk.flow, bytes, bytes);
      return INFOLD_HEADER_BYTES + bytes;
    }
  }

  Header header = header_of(chunk, Kind::add);
  const Quarters quarters(layout, elements, {held, part.exponents, part.elements});
  const std::size_t in_quarters = sizeof(infold_sparse) + quarters.bytes();
  const bool leaves_out_quarters = in_quarters < bytes;
  if (chunk.slot.sends == 0) note_grain(chunk.flow, in_quarters, bytes);
  if (leaves_out_quarters) {
    const BlocksInMemory source = {held, chunk_.data(),
                                   chunk_.data() + (part.elements - part.exponents)};
    std::copy_n(part.exponents, held.payload_bytes(layout, elements), chunk_.data());
    QuartersWriter writer({body, bytes});
    CHECK(writer.add(quarters, source));
    bytes = in_quarters;
  }
  if (leaves_out_blocks || leaves_out_quarters) header.flags |= INFOLD_FLAG_SPARSE;
  write_header(header, out);
  return INFOLD_HEADER_BYTES + bytes;
}

// Encodes chunks up to the first with specials and returns their number. Adds the bytes that they
// would take in quarters to `in_quarters`.
std::uint32_t Worker::State::encode_bundle(Flow& flow, std::uint16_t first, std::uint32_t chunks,
                                           SparseWriter& writer, std::size_t& in_quarters) {
  for (std::uint32_t i = 0; i < chunks; ++i) {
    const Chunk chunk = chunk_on(flow, static_cast<std::uint16_t>(first + i));
    const BlockSet present = present_in(chunk.transfer, chunk.slot.chunk);
    const SparseWriter::Part part = writer.next(present);
    if (encode_present(chunk, present, part)) return i;
    in_quarters += Quarters(chunk.transfer.request.layout, chunk.range.elements,
                            {present, part.exponents, part.elements})
                       .bytes();
  }
  return chunks;
}

// Encodes the blocks of `present`. Returns whether a special is among the elements.
bool Worker::State::encode_present(const Chunk& chunk, const BlockSet& present,
                                   SparseWriter::Part part) const {
  const TransferRequest& request = chunk.transfer.request;
  const ElementLayout layout = request.layout;
  EncodedRange encoded{*request.codec, request.context, layout,
                       nullptr,        part.exponents,  part.elements};
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
