// SPDX-License-Identifier: Apache-2.0
//
// Writes headers with plausible fields, and bodies of the right length.
#include "tests/hostile/datagrams.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/packet/exact_body.h"
#include "core/packet/sparse_body.h"

namespace infold::hostile {
namespace {

using core::Kind;

Datagram sample(Kind kind, core::WireFormat format, core::DataType dtype, bool specials) {
  core::Header header = contribution(1, 0, 1);
  header.kind = kind;
  header.signature.format =
      static_cast<std::uint8_t>(static_cast<unsigned>(dtype) << 4 | static_cast<unsigned>(format));
  const bool ends = kind == Kind::abort || kind == Kind::aborted;
  const bool has_elements = kind == Kind::add || kind == Kind::partial || kind == Kind::result;
  const bool is_summed = has_elements || kind == Kind::overrange || kind == Kind::realign;
  specials = specials && has_elements;
  if (specials) header.flags = INFOLD_FLAG_SPECIALS;
  if (!is_summed) header.contributors = {};
  if (ends) {
    header.slot = 0;
    header.round = 0;
    header.signature = {};
  }
  std::size_t bytes =
      core::datagram_bytes(kind, header.signature.layout(), header.signature.elements, specials);
  if (kind == Kind::pending) bytes += 2 * sizeof(infold_rank_range);
  Datagram datagram(bytes);
  core::write_header(header, datagram);
  std::byte* const body = datagram.data() + INFOLD_HEADER_BYTES;
  std::fill(body, datagram.data() + bytes, std::byte{1});
  if (ends) core::write_abort({}, body);
  const core::ElementLayout layout = header.signature.layout();
  if (!is_summed || !layout.is_block_float()) return datagram;
  // Zeros follow the codes, and the bits of the elements that are present.
  const bool is_partial = kind == Kind::partial;
  const std::uint32_t codes = layout.block_count(header.signature.elements) * (is_partial ? 2 : 1);
  const std::uint32_t elements_at = is_partial
                                        ? layout.partial_exponent_bytes(header.signature.elements)
                                        : layout.exponent_bytes(header.signature.elements);
  std::fill(body + codes * layout.exponent_code_bytes(), body + elements_at, std::byte{0});
  if (is_partial && specials) {
    std::fill_n(datagram.end() - 16, 16, std::byte{0});
  }
  return datagram;
}

// Contributes to both slots, with some of their blocks present.
Datagram sparse_sample(core::WireFormat format, core::DataType dtype) {
  core::Header header = contribution(1, 0, 1);
  header.flags = INFOLD_FLAG_SPARSE;
  header.signature.elements = 100;
  header.signature.format =
      static_cast<std::uint8_t>(static_cast<unsigned>(dtype) << 4 | static_cast<unsigned>(format));
  const core::ElementLayout layout = header.signature.layout();
  Datagram datagram(1472, std::byte{1});
  core::SparseWriter writer(datagram.data() + INFOLD_HEADER_BYTES, layout, 100, kSlots);
  for (const std::uint32_t present : {0b1010U, 0b0001U}) {
    const core::BlockSet set = core::BlockSet::slice(&present, 0, layout.block_count(100));
    const auto part = writer.next(set);
    std::fill(part.exponents, part.elements, std::byte{0});
  }
  core::write_header(header, datagram);
  datagram.resize(INFOLD_HEADER_BYTES + writer.bytes());
  return datagram;
}

// Has a chunk of 100 elements, or two chunks, with some of their quarters present.
Datagram quarters_sample(Kind kind, core::WireFormat format, core::DataType dtype) {
  core::Header header = contribution(1, 0, 1);
  header.kind = kind;
  header.flags = INFOLD_FLAG_SPARSE;
  header.signature.elements = 100;
  header.signature.format =
      static_cast<std::uint8_t>(static_cast<unsigned>(dtype) << 4 | static_cast<unsigned>(format));
  const core::ElementLayout layout = header.signature.layout();
  const core::BlockSet all = core::BlockSet::all(layout.block_count(100));
  Datagram chunk(layout.payload_bytes(100));
  std::byte* const elements = chunk.data() + layout.exponent_bytes(100);
  for (const std::uint32_t filled : {3U, 20U, 70U, 99U}) {
    chunk[filled / layout.block_elements()] = std::byte{9};
    elements[filled * layout.element_bytes()] = std::byte{1};
  }
  const core::BlocksInMemory source = {all, chunk.data(), elements};
  const core::Quarters quarters(layout, 100, source);
  Datagram datagram(1472);
  core::QuartersWriter writer{std::span(datagram).subspan(INFOLD_HEADER_BYTES)};
  for (std::uint32_t left = kind == Kind::add ? kSlots : 1; left > 0; --left) {
    writer.add(quarters, source);
  }
  core::write_header(header, datagram);
  datagram.resize(INFOLD_HEADER_BYTES + writer.bytes());
  return datagram;
}

// Makes the first or the second part of an exact sum, which has doubles or rows.
Datagram exact_sample(core::DataType dtype, std::uint32_t part) {
  core::Header header = contribution(1, 0, 1);
  header.kind = Kind::partial;
  header.signature.format =
      static_cast<std::uint8_t>(static_cast<unsigned>(dtype) << 4 | INFOLD_FORMAT_NATIVE);
  constexpr std::uint32_t kParts = 2;
  constexpr std::uint32_t kRows = 3;
  constexpr std::size_t kRowBytes = kElements * sizeof(std::int32_t);
  Datagram datagram(1472, std::byte{1});
  core::write_header(header, datagram);
  std::byte* const body = datagram.data() + INFOLD_HEADER_BYTES;
  std::size_t bytes;
  if (part == 0) {
    std::array<double, kElements> high;
    high.fill(1);
    std::array<double, kElements> low{};
    low[3] = 0x1p-60;
    bytes = core::write_exact_doubles(dtype, kElements, kParts, high.data(), low.data(), body);
  } else {
    bytes = core::write_exact_head(part, kParts, 4, kRows, body) + kRows * kRowBytes;
  }
  datagram.resize(INFOLD_HEADER_BYTES + bytes);
  return datagram;
}

std::vector<Datagram> samples(std::span<const Kind> kinds) {
  std::vector<Datagram> all;
  for (const Kind kind : kinds) {
    const bool needs_blocks =
        kind == Kind::partial || kind == Kind::overrange || kind == Kind::realign;
    if (!needs_blocks) {
      all.push_back(sample(kind, core::WireFormat::i32, core::DataType::i32, false));
      all.push_back(sample(kind, core::WireFormat::i64, core::DataType::i64, false));
      all.push_back(sample(kind, core::WireFormat::native, core::DataType::f32, false));
    }
    if (kind == Kind::partial) {
      for (const core::DataType dtype : {core::DataType::f32, core::DataType::f64}) {
        for (const std::uint32_t part : {0U, 1U}) all.push_back(exact_sample(dtype, part));
      }
    }
    if (kind == Kind::add) {
      all.push_back(sparse_sample(core::WireFormat::i16, core::DataType::i32));
      all.push_back(sparse_sample(core::WireFormat::bfp16, core::DataType::f32));
    }
    if (kind == Kind::add || kind == Kind::result) {
      all.push_back(quarters_sample(kind, core::WireFormat::i16, core::DataType::i32));
      all.push_back(quarters_sample(kind, core::WireFormat::bfp16, core::DataType::f64));
    }
    all.push_back(sample(kind, core::WireFormat::bfp8, core::DataType::f32, true));
    all.push_back(sample(kind, core::WireFormat::bfp32, core::DataType::f64, false));
  }
  return all;
}

}  // namespace

core::AggregatorOptions aggregator_options(bool parent) {
  core::AggregatorOptions options;
  options.job = kJob;
  options.epoch = kEpoch;
  options.slot_count = kSlots;
  options.check_period = 1;
  options.world = parent ? 2 * kWorkers : kWorkers;
  for (std::uint16_t rank = 0; rank < kWorkers; ++rank) options.workers.push_back({rank, 1});
  if (parent) options.parent_worker = std::uint8_t{1};
  return options;
}

core::Header contribution(std::uint8_t worker, std::uint16_t slot, std::uint32_t round) {
  core::Header header;
  header.kind = Kind::add;
  header.worker = worker;
  header.job = kJob;
  header.slot = slot;
  header.epoch = kEpoch;
  header.round = round;
  header.signature.elements = kElements;
  header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
  header.signature.shape = kElements;
  header.contributors = {1, 1, core::rank_digest(worker)};
  return header;
}

Datagram add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                      std::span<const std::int32_t> elements) {
  Datagram datagram(INFOLD_HEADER_BYTES + elements.size_bytes());
  core::write_header(contribution(worker, slot, round), datagram);
  std::memcpy(datagram.data() + INFOLD_HEADER_BYTES, elements.data(), elements.size_bytes());
  return datagram;
}

Datagram sparse_add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                             std::span<const std::int32_t> elements) {
  core::Header header = contribution(worker, slot, round);
  header.flags = INFOLD_FLAG_SPARSE;
  Datagram datagram(INFOLD_HEADER_BYTES + core::sparse_head_bytes(1, 1) + elements.size_bytes());
  core::write_header(header, datagram);
  const std::uint32_t one = 1;
  core::SparseWriter writer(datagram.data() + INFOLD_HEADER_BYTES, header.signature.layout(),
                            kElements, 1);
  const auto part = writer.next(core::BlockSet::slice(&one, 0, 1));
  std::memcpy(part.elements, elements.data(), elements.size_bytes());
  return datagram;
}

Datagram quarters_add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                               std::span<const std::int32_t> elements) {
  return in_quarters(add_datagram(worker, slot, round, elements));
}

Datagram in_quarters(const Datagram& whole) {
  core::Packet packet;
  core::parse(whole, packet);
  const core::ElementLayout layout = packet.header.signature.layout();
  const std::uint32_t elements = packet.header.signature.elements;
  const core::BlockSet all = core::BlockSet::all(layout.block_count(elements));
  const core::BlocksInMemory source = {all, packet.exponents, packet.elements};
  const core::Quarters quarters(layout, elements, source);
  Datagram datagram(INFOLD_HEADER_BYTES + sizeof(infold_sparse) + quarters.bytes());
  core::QuartersWriter writer{std::span(datagram).subspan(INFOLD_HEADER_BYTES)};
  writer.add(quarters, source);
  packet.header.flags |= INFOLD_FLAG_SPARSE;
  core::write_header(packet.header, datagram);
  return datagram;
}

Datagram bare_datagram(Kind kind, std::uint8_t worker, std::uint16_t slot, std::uint32_t round) {
  core::Header header = contribution(worker, slot, round);
  header.kind = kind;
  header.contributors = {};
  Datagram datagram(INFOLD_HEADER_BYTES);
  core::write_header(header, datagram);
  return datagram;
}

std::vector<Datagram> samples_to_aggregator() {
  static constexpr Kind kinds[] = {Kind::add,       Kind::skip,  Kind::partial,
                                   Kind::overrange, Kind::query, Kind::abort};
  return samples(kinds);
}

std::vector<Datagram> samples_from_aggregator() {
  static constexpr Kind kinds[] = {Kind::result, Kind::realign, Kind::pending, Kind::aborted};
  return samples(kinds);
}

}  // namespace infold::hostile
