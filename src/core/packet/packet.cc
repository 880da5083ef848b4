// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes datagrams (spec section 2). Only parse() compares a sender's bytes with what
// they claim.
#include "core/packet/packet.h"

#include <algorithm>

#include "core/packet/exact_body.h"
#include "core/packet/sparse_body.h"

namespace infold::core {
namespace {

bool is_known_kind(std::uint8_t kind) {
  return (kind >= INFOLD_KIND_ADD && kind <= INFOLD_KIND_ABORT) ||
         (kind >= INFOLD_KIND_RESULT && kind <= INFOLD_KIND_ABORTED);
}

// Returns the bytes after the header and tag. A negative number means any length, because the body
// has its own check.
std::int64_t body_bytes(const Header& header) {
  const ElementLayout layout = header.signature.layout();
  const std::uint32_t elements = header.signature.elements;
  switch (header.kind) {
    case Kind::add: return layout.payload_bytes(elements);
    case Kind::skip:
    case Kind::query: return 0;
    case Kind::partial: {
      if (layout.is_native()) return -1;
      const bool specials = (header.flags & INFOLD_FLAG_SPECIALS) != 0;
      return layout.partial_exponent_bytes(elements) + std::int64_t{elements} * 8 +
             (specials ? layout.partial_special_bytes(elements) : 0);
    }
    case Kind::overrange:
    case Kind::realign: return layout.exponent_bytes(elements);
    case Kind::abort:
    case Kind::aborted: return sizeof(infold_abort);
    case Kind::result: return header.contributors.count == 0 ? 0 : layout.payload_bytes(elements);
    case Kind::pending: return -1;
  }
  return -1;
}

// This limit holds for both forms, because eight ranges take as many bytes as 256 bits.
static_assert(INFOLD_PENDING_RANGES_MAX * sizeof(infold_rank_range) == INFOLD_PENDING_BYTES_MAX);
bool pending_body_fits(std::size_t bytes) {
  return bytes % sizeof(infold_rank_range) == 0 && bytes <= INFOLD_PENDING_BYTES_MAX;
}

void set_parts(Packet& packet) {
  const ElementLayout layout = packet.header.signature.layout();
  const std::uint32_t elements = packet.header.signature.elements;
  const std::byte* at = packet.body.data();
  switch (packet.header.kind) {
    case Kind::add:
    case Kind::result:
      if (packet.body.empty()) return;
      packet.exponents = at;
      packet.elements = at + layout.exponent_bytes(elements);
      return;
    case Kind::partial:
      packet.exponents = at;
      packet.elements = at + layout.partial_exponent_bytes(elements);
      if (packet.has_specials()) packet.specials = packet.elements + std::size_t{elements} * 8;
      return;
    case Kind::overrange:
    case Kind::realign: packet.exponents = at; return;
    default: return;
  }
}

// Writes into the packet itself. A returned header would be copied as a whole just after its fields
// were written one by one, and that makes a processor wait.
void unpack(const infold_header& wire, Header& header) {
  header.kind = static_cast<Kind>(wire.version_kind & 0xF);
  header.flags = wire.flags;
  header.worker = wire.worker;
  header.job = infold_from_be16(wire.job);
  header.slot = infold_from_be16(wire.slot);
  header.epoch = infold_from_be32(wire.epoch);
  header.round = infold_from_be32(wire.round);
  header.signature = {infold_from_be16(wire.elements), wire.format, wire.operation,
                      infold_from_be32(wire.shape)};
  header.contributors = {infold_from_be16(wire.contributors), infold_from_be16(wire.weight),
                         infold_from_be32(wire.contributor_digest)};
}

// Contributions with elements have contributors. Contributions without elements, and packets that
// are not contributions, have none.
bool contributors_fit(const Header& header) {
  switch (header.kind) {
    case Kind::add:
    case Kind::partial:
    case Kind::overrange: return header.contributors.count != 0;
    case Kind::result:
    case Kind::realign: return true;
    default: return header.contributors == Contributors{};
  }
}

// Only block formats have specials, and packets about the end of a job do not name a chunk.
Malformed check_fields(const Header& header) {
  if ((header.flags & ~infold_flags_of(static_cast<std::uint32_t>(header.kind))) != 0) {
    return Malformed::flags;
  }
  const bool has_specials = (header.flags & INFOLD_FLAG_SPECIALS) != 0;
  if (has_specials && !header.signature.layout().is_block_float()) return Malformed::flags;
  if (header.kind != Kind::abort && header.kind != Kind::aborted) return Malformed::none;
  const bool is_of_chunk =
      header.slot != 0 || header.round != 0 || header.signature != ChunkSignature{};
  return is_of_chunk ? Malformed::reserved : Malformed::none;
}

// In the two sets of a partial sum, bits must be 0 for elements that the chunk does not have
//
Malformed check_special_sets(const Packet& packet) {
  const std::uint32_t elements = packet.header.signature.elements;
  if (packet.specials == nullptr || elements % 64 == 0) return Malformed::none;
  const std::size_t words = (elements + 63) / 64;
  for (const std::size_t last : {words - 1, 2 * words - 1}) {
    std::uint64_t bits;
    std::memcpy(&bits, packet.specials + last * sizeof(bits), sizeof(bits));
    if (bits >> (elements % 64) != 0) return Malformed::reserved;
  }
  return Malformed::none;
}

// Checks what lengths alone do not show.
Malformed check_body(const Packet& packet) {
  const Header& header = packet.header;
  if (header.kind == Kind::abort || header.kind == Kind::aborted) {
    return read_abort(packet.body) ? Malformed::none : Malformed::abort;
  }
  const ElementLayout layout = header.signature.layout();
  if (packet.exponents == nullptr || !layout.is_block_float()) return Malformed::none;
  const std::uint32_t blocks = layout.block_count(header.signature.elements);
  if (header.kind != Kind::partial) return check_codes(layout, packet.exponents, blocks, 4);
  const Malformed codes = check_codes(layout, packet.exponents, 2 * blocks, 8);
  return codes != Malformed::none ? codes : check_special_sets(packet);
}

// Only sums of block formats are realigned, and only they and exact sums travel unrounded.
bool has_layout_for(Kind kind, ElementLayout layout) {
  switch (kind) {
    case Kind::partial: return layout.has_partial_sums();
    case Kind::overrange:
    case Kind::realign: return layout.is_block_float();
    default: return true;
  }
}

}  // namespace

// Returns whether elements of this format can be reduced in this way at all.
bool is_known_format(const ChunkSignature& signature) {
  const bool codes_known = (signature.format & 0xF) < INFOLD_FORMAT_COUNT &&
                           (signature.format >> 4) < INFOLD_DTYPE_COUNT &&
                           (signature.operation & 0xF) < INFOLD_REDUCTION_COUNT &&
                           (signature.operation >> 4) < INFOLD_COLLECTIVE_COUNT;
  if (!codes_known) return false;
  const bool sums =
      signature.reduction() == Reduction::sum || signature.reduction() == Reduction::average;
  return !signature.layout().has_partial_sums() ||
         (sums && signature.layout().dtype <= DataType::f64);
}

Malformed check_codes(ElementLayout layout, const std::byte* codes, std::uint32_t count,
                      std::uint32_t unit) {
  const std::uint32_t used = count * layout.exponent_code_bytes();
  const std::uint32_t padded = (used + unit - 1) & ~(unit - 1);
  std::byte any{};
  for (std::uint32_t at = used; at < padded; ++at) any |= codes[at];
  if (any != std::byte{}) return Malformed::reserved;
  if (!layout.wide_exponents()) return Malformed::none;
  for (std::uint32_t at = 0; at < used; at += 2) any |= codes[at] & std::byte{0xF0};
  return any != std::byte{} ? Malformed::codes : Malformed::none;
}

// Block formats and native do not count, because the root encodes their sums again even if there is
// only one contribution.
bool may_be_brief(const Header& header) {
  return header.kind == Kind::result && (header.flags & ~INFOLD_FLAG_TAGGED) == 0 &&
         header.signature.collective() == Collective::broadcast &&
         !header.signature.layout().has_partial_sums() && header.signature.elements > 0 &&
         header.contributors.count == 1;
}

Malformed parse(std::span<const std::byte> datagram, Packet& packet) {
  infold_header wire;
  if (datagram.size() < sizeof(wire)) return Malformed::truncated;
  std::memcpy(&wire, datagram.data(), sizeof(wire));
  if (wire.magic != INFOLD_MAGIC) return Malformed::magic;
  if (wire.version_kind >> 4 != INFOLD_VERSION) return Malformed::version;
  if (!is_known_kind(wire.version_kind & 0xF)) return Malformed::kind;

  packet = Packet{};
  unpack(wire, packet.header);
  const Header& header = packet.header;
  if (!is_known_format(header.signature)) return Malformed::format;
  if (!has_layout_for(header.kind, header.signature.layout())) return Malformed::format;
  if (header.signature.elements * header.signature.layout().element_bytes() >
      INFOLD_PAYLOAD_BYTES_MAX) {
    return Malformed::elements;
  }
  if (!contributors_fit(header)) return Malformed::contributors;
  if (const Malformed why = check_fields(header); why != Malformed::none) return why;

  std::size_t start = sizeof(wire);
  if ((header.flags & INFOLD_FLAG_TAGGED) != 0) start += INFOLD_TAG_BYTES;
  if (datagram.size() < start) return Malformed::truncated;
  packet.body = datagram.subspan(start);
  if (packet.is_sparse()) return check_sparse(packet);
  if (is_exact_sum(header)) return check_exact(packet);
  packet.is_brief = packet.body.empty() && may_be_brief(header);
  if (packet.is_brief) return Malformed::none;
  const std::int64_t expected = body_bytes(header);
  const auto actual = static_cast<std::int64_t>(packet.body.size());
  if (expected < 0 && !pending_body_fits(packet.body.size())) return Malformed::oversized;
  if (expected >= 0 && actual < expected) return Malformed::truncated;
  if (expected >= 0 && actual > expected) return Malformed::oversized;
  set_parts(packet);
  return check_body(packet);
}

std::optional<std::uint16_t> named_job(std::span<const std::byte> datagram) {
  if (datagram.size() < sizeof(infold_header)) return std::nullopt;
  infold_be16 job;
  std::memcpy(&job, datagram.data() + offsetof(infold_header, job), sizeof(job));
  return infold_from_be16(job);
}

// Writes into the datagram itself, field by field, for the reason given at unpack().
void write_header(const Header& header, std::span<std::byte> out) {
  const auto put = [out](std::size_t at, auto field) {
    std::memcpy(out.data() + at, &field, sizeof(field));
  };
  const auto version_kind =
      static_cast<std::uint8_t>(INFOLD_VERSION << 4 | static_cast<unsigned>(header.kind));
  put(offsetof(infold_header, magic), std::uint8_t{INFOLD_MAGIC});
  put(offsetof(infold_header, version_kind), version_kind);
  put(offsetof(infold_header, flags), header.flags);
  put(offsetof(infold_header, worker), header.worker);
  put(offsetof(infold_header, job), infold_to_be16(header.job));
  put(offsetof(infold_header, slot), infold_to_be16(header.slot));
  put(offsetof(infold_header, epoch), infold_to_be32(header.epoch));
  put(offsetof(infold_header, round), infold_to_be32(header.round));
  put(offsetof(infold_header, elements), infold_to_be16(header.signature.elements));
  put(offsetof(infold_header, format), header.signature.format);
  put(offsetof(infold_header, operation), header.signature.operation);
  put(offsetof(infold_header, shape), infold_to_be32(header.signature.shape));
  put(offsetof(infold_header, contributors), infold_to_be16(header.contributors.count));
  put(offsetof(infold_header, weight), infold_to_be16(header.contributors.weight));
  put(offsetof(infold_header, contributor_digest), infold_to_be32(header.contributors.digest));
}

void write_codes(ElementLayout layout, const std::uint16_t* codes, std::uint32_t blocks,
                 std::byte* out) {
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (layout.wide_exponents()) {
      const infold_be16 code = infold_to_be16(codes[block]);
      std::memcpy(out + block * sizeof(code), &code, sizeof(code));
    } else {
      out[block] = static_cast<std::byte>(codes[block]);
    }
  }
}

void read_codes(ElementLayout layout, const std::byte* wire, std::uint32_t blocks,
                std::uint16_t* codes) {
  const auto largest = static_cast<std::uint16_t>(layout.exponent_code_max());
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (layout.wide_exponents()) {
      infold_be16 code;
      std::memcpy(&code, wire + block * sizeof(code), sizeof(code));
      // A sender on the same host may change the code after the check.
      codes[block] = std::min(infold_from_be16(code), largest);
    } else {
      codes[block] = static_cast<std::uint16_t>(wire[block]);
    }
  }
}

std::size_t datagram_bytes(Kind kind, ElementLayout layout, std::uint32_t elements, bool specials) {
  Header header;
  header.kind = kind;
  header.flags = specials ? INFOLD_FLAG_SPECIALS : 0;
  header.signature.elements = static_cast<std::uint16_t>(elements);
  header.signature.set_layout(layout);
  header.contributors.count = 1;
  if (is_exact_sum(header)) {
    return sizeof(infold_header) +
           exact_body_bytes(layout.dtype, elements, exact_lows_max(layout.dtype, elements));
  }
  const std::int64_t body = body_bytes(header);
  return sizeof(infold_header) + static_cast<std::size_t>(std::max<std::int64_t>(body, 0));
}

}  // namespace infold::core
