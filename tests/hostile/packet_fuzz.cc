// SPDX-License-Identifier: Apache-2.0
//
// Runs parse() on any bytes. No part of an accepted packet may be outside the datagram, and writing
// the parts again must give the same bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "core/packet/exact_body.h"
#include "core/packet/packet.h"
#include "core/packet/sparse_body.h"

namespace {

using namespace infold;

void check_inside(std::span<const std::byte> datagram, const std::byte* part) {
  if (part == nullptr) return;
  CHECK(part >= datagram.data() + INFOLD_HEADER_BYTES);
  CHECK(part <= datagram.data() + datagram.size());
}

void check_codes(const core::Packet& packet) {
  const core::ElementLayout layout = packet.header.signature.layout();
  const std::uint32_t blocks = layout.block_count(packet.header.signature.elements);
  if (packet.exponents == nullptr || !layout.is_block_float() || blocks == 0) return;
  std::array<std::uint16_t, INFOLD_BLOCKS_MAX> codes;
  std::array<std::uint16_t, INFOLD_BLOCKS_MAX> again;
  std::array<std::byte, 2 * INFOLD_BLOCKS_MAX> wire;
  CHECK_THAT(blocks, <=, codes.size());
  core::read_codes(layout, packet.exponents, blocks, codes.data());
  core::write_codes(layout, codes.data(), blocks, wire.data());
  core::read_codes(layout, wire.data(), blocks, again.data());
  for (std::uint32_t i = 0; i < blocks; ++i) {
    CHECK_THAT(codes[i], ==, again[i]);
    CHECK_THAT(codes[i], <=, layout.exponent_code_max());
  }
}

void check_bodies(const core::Packet& packet) {
  std::array<std::byte, 64> again;
  if (packet.header.kind == core::Kind::pending) {
    const auto ranges = core::read_missing(packet, 8 * INFOLD_PENDING_BYTES_MAX);
    static_cast<void>(core::presence_in(packet, 1));
    if (!ranges) return;
    CHECK_THAT(ranges->count, <=, INFOLD_PENDING_RANGES_MAX);
    const std::span<const core::RankRange> listed(ranges->range, ranges->count);
    const std::size_t bytes =
        core::write_missing(listed, core::PendingForm::ranges, 256, &again[0]);
    CHECK_THAT(bytes, <=, INFOLD_PENDING_BYTES_MAX);
    for (const core::RankRange& each : listed) {
      CHECK(core::presence_in(packet, each.first) == core::Presence::missing);
    }
  }
  if (packet.header.kind != core::Kind::abort && packet.header.kind != core::Kind::aborted) return;
  const auto abort = core::read_abort(packet.body);
  if (!abort) return;
  core::write_abort(*abort, again.data());
  CHECK(std::memcmp(again.data(), packet.body.data(), 6) == 0);
  CHECK(std::memcmp(again.data() + 8, packet.body.data() + 8, 16) == 0);
}

// A chunk in quarters that is read and written again has the same contents.
void check_quarters(const core::Packet& chunk) {
  const core::ElementLayout layout = chunk.header.signature.layout();
  const std::uint32_t elements = chunk.header.signature.elements;
  const core::BlocksInMemory source = {*chunk.present, chunk.exponents, chunk.elements};
  const core::Quarters quarters(layout, elements, source);
  std::vector<std::byte> wire(quarters.bytes());
  quarters.write(source, wire.data());
  const auto view = core::QuartersView::parse(layout, elements, wire);
  CHECK(view.has_value());
  CHECK_THAT(view->bytes(), ==, wire.size());
  std::vector<std::byte> exponents(layout.exponent_bytes(elements));
  std::vector<std::byte> again(std::size_t{elements} * layout.element_bytes());
  view->spread_chunk(exponents.data(), again.data());
  const std::byte* from = chunk.elements;
  chunk.present->for_each_run([&](std::uint32_t block, std::uint32_t blocks) {
    const std::uint32_t first = block << layout.block_shift();
    const std::uint32_t size = std::min(blocks << layout.block_shift(), elements - first);
    const std::size_t bytes = std::size_t{size} * layout.element_bytes();
    CHECK(std::memcmp(&again[std::size_t{first} * layout.element_bytes()], from, bytes) == 0);
    from += bytes;
  });
}

// The contents of a part of an exact sum end where the packet does.
void check_part(const core::Packet& packet) {
  const std::uint32_t elements = packet.header.signature.elements;
  const core::ExactBody body = core::read_exact(packet);
  CHECK_THAT(body.part, <, body.parts);
  std::array<std::byte, sizeof(infold_exact)> head;
  core::write_exact_head(body.part, body.parts, body.first_row, body.rows, head.data());
  CHECK(std::memcmp(head.data(), packet.body.data(), offsetof(infold_exact, lows)) == 0);
  const std::byte* end = body.digits;
  if (body.part == 0) {
    CHECK(body.high == packet.body.data() + sizeof(infold_exact));
    CHECK(body.high + 8 * std::size_t{elements} <= body.lows_at);
    end = body.lows_at;
  }
  end += 8 * std::size_t{body.lows} + std::size_t{body.rows} * elements * sizeof(std::int32_t);
  CHECK(end == packet.body.data() + packet.body.size());
  for (std::uint32_t pair = 0; body.low_indices != nullptr && pair < body.lows; ++pair) {
    CHECK_THAT(body.low_index(pair, elements), <, elements);
  }
}

void check_chunks(const core::Packet& packet) {
  core::SparseReader reader(packet);
  for (std::uint32_t chunk = 0; chunk < reader.chunks(); ++chunk) {
    const core::Packet& part = reader.next();
    if (part.in_quarters) check_quarters(part);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  core::Packet packet;
  if (core::parse(datagram, packet) != core::Malformed::none) return 0;
  std::array<std::byte, INFOLD_HEADER_BYTES> header;
  core::write_header(packet.header, header);
  CHECK(std::memcmp(header.data(), data, header.size()) == 0);
  check_inside(datagram, packet.exponents);
  check_inside(datagram, packet.elements);
  check_inside(datagram, packet.specials);
  check_codes(packet);
  check_bodies(packet);
  if (packet.is_sparse()) check_chunks(packet);
  if (core::is_exact_sum(packet.header)) check_part(packet);
  return 0;
}
