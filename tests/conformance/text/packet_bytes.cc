// SPDX-License-Identifier: Apache-2.0
//
// Writes fields as bytes, as spec/protocol.md says in sections 2 and 3.
#include <algorithm>
#include <utility>

#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {
namespace {

using Bytes = std::vector<std::byte>;

void put_big(Bytes& out, std::uint64_t value, unsigned width) {
  for (unsigned i = width; i-- > 0;) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void put_little(Bytes& out, std::int64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) {
    out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

void pad(Bytes& out, std::size_t start, std::size_t unit) {
  while ((out.size() - start) % unit != 0) out.push_back(std::byte{0});
}

bool is_native(const Signature& signature) { return signature.format == INFOLD_FORMAT_NATIVE; }

bool is_block_float(const Signature& signature) {
  return signature.format >= INFOLD_FORMAT_BFP8 && !is_native(signature);
}

unsigned element_width(const Signature& signature) {
  constexpr unsigned kWidths[] = {4, 2, 2, 8, 1, 1, 4, 8};  // the bytes of each data type
  if (is_native(signature)) return kWidths[signature.dtype];
  return is_block_float(signature) ? 1U << (signature.format - INFOLD_FORMAT_BFP8)
                                   : 1U << signature.format;
}

unsigned code_width(const Signature& signature) {
  return signature.dtype == INFOLD_DTYPE_F64 ? 2 : 1;
}

std::int64_t element_count(const PacketText& packet) {
  return packet.signature.elements.value_or(packet.signature.last_elements);
}

void put_codes(Bytes& out, const Signature& signature, const std::vector<std::int64_t>& codes) {
  for (const std::int64_t code : codes) {
    put_big(out, static_cast<std::uint64_t>(code), code_width(signature));
  }
}

void put_set(Bytes& out, std::int64_t elements, const std::vector<std::int64_t>& members) {
  std::vector<std::int64_t> words(static_cast<std::size_t>((elements + 63) / 64));
  for (const std::int64_t member : members) {
    auto& word = words.at(static_cast<std::size_t>(member / 64));
    word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) | std::uint64_t{1}
                                                                            << (member % 64));
  }
  for (const std::int64_t word : words) put_little(out, word, 8);
}

void put_signature(Bytes& out, Bytes signature) {
  signature.resize(8);
  out.insert(out.end(), signature.begin(), signature.end());
}

// Writes the body of R-042. Lists of the wrong length are written as they are.
void put_exact(Bytes& out, const PacketText& packet) {
  put_big(out, static_cast<std::uint64_t>(packet.part), 1);
  put_big(out, static_cast<std::uint64_t>(packet.parts), 1);
  put_big(out, static_cast<std::uint64_t>(packet.first_row), 1);
  put_big(out, packet.rows.size(), 1);
  put_big(out, packet.second.size(), 2);
  put_big(out, 0, 2);
  for (const std::int64_t bits : packet.elements) put_little(out, bits, 8);
  const std::size_t start = out.size();
  for (const std::int64_t index : packet.second_at) put_little(out, index, 2);
  pad(out, start, 8);
  for (const std::int64_t bits : packet.second) put_little(out, bits, 8);
  for (const std::vector<std::int64_t>& row : packet.rows) {
    for (const std::int64_t digit : row) put_little(out, digit, 4);
  }
}

void put_partial(Bytes& out, const PacketText& packet) {
  if (is_native(packet.signature)) return put_exact(out, packet);
  const std::size_t start = out.size();
  put_codes(out, packet.signature, packet.codes);
  put_codes(out, packet.signature, packet.high_codes);
  pad(out, start, 8);
  for (const std::int64_t lane : packet.elements) put_little(out, lane, 8);
  if ((packet.flags & INFOLD_FLAG_SPECIALS) == 0) return;
  put_set(out, element_count(packet), packet.plus);
  put_set(out, element_count(packet), packet.minus);
}

void put_block_set(Bytes& out, std::int64_t blocks, const std::vector<std::int64_t>& held) {
  std::vector<std::int64_t> words(static_cast<std::size_t>((blocks + 31) / 32));
  for (const std::int64_t block : held) {
    words.at(static_cast<std::size_t>(block / 32)) |= std::int64_t{1} << (block % 32);
  }
  for (const std::int64_t word : words) put_little(out, word, 4);
}

std::int64_t block_elements(const Signature& signature) {
  return signature.dtype == INFOLD_DTYPE_F64 ? 64 : 32;
}

// Writes the body of R-018. Lists of the wrong length are written as far as they go.
void put_blocks(Bytes& out, const PacketText& packet, std::int64_t blocks) {
  const std::int64_t elements = element_count(packet);
  const std::int64_t size = block_elements(packet.signature);
  for (const auto& held : packet.held) put_block_set(out, blocks, held);
  auto code = packet.codes.begin();
  auto element = packet.elements.begin();
  for (const auto& held : packet.held) {
    const std::size_t start = out.size();
    for (std::size_t i = 0; i < held.size() && code != packet.codes.end(); ++i) {
      put_codes(out, packet.signature, {*code++});
    }
    pad(out, start, 4);
    for (const std::int64_t block : held) {
      const std::int64_t end = std::min(size, elements - block * size);
      for (std::int64_t i = 0; i < end && element != packet.elements.end(); ++i) {
        put_little(out, *element++, element_width(packet.signature));
      }
    }
  }
}

// Writes the body of R-019 in the same way. If `has` and `quarters` of a chunk differ in length,
// the shorter counts.
void put_quarters(Bytes& out, const PacketText& packet, std::int64_t blocks) {
  const std::int64_t elements = element_count(packet);
  const std::int64_t quarter = block_elements(packet.signature) / 4;
  auto code = packet.codes.begin();
  auto element = packet.elements.begin();
  for (std::size_t chunk = 0; chunk < std::min(packet.held.size(), packet.quarters.size());
       ++chunk) {
    const std::vector<std::int64_t>& held = packet.held[chunk];
    const std::vector<std::int64_t>& quarters = packet.quarters[chunk];
    put_block_set(out, blocks, held);
    const std::size_t start = out.size();
    for (std::size_t i = 0; i < quarters.size(); i += 2) {
      const std::int64_t second = i + 1 < quarters.size() ? quarters[i + 1] : 0;
      put_little(out, quarters[i] | second << 4, 1);
    }
    for (std::size_t i = 0; i < held.size() && code != packet.codes.end(); ++i) {
      put_codes(out, packet.signature, {*code++});
    }
    pad(out, start, 4);
    for (std::size_t i = 0; i < std::min(held.size(), quarters.size()); ++i) {
      for (std::int64_t each = 0; each < 4; ++each) {
        if ((quarters[i] >> each & 1) == 0) continue;
        const std::int64_t first = (held[i] * 4 + each) * quarter;
        const std::int64_t end = std::min(quarter, elements - first);
        for (std::int64_t j = 0; j < end && element != packet.elements.end(); ++j) {
          put_little(out, *element++, element_width(packet.signature));
        }
      }
    }
  }
}

void put_sparse(Bytes& out, const PacketText& packet) {
  const std::int64_t size = block_elements(packet.signature);
  const std::int64_t blocks = (element_count(packet) + size - 1) / size;
  const bool in_quarters = !packet.quarters.empty();
  put_big(out, packet.held.size(), 2);
  put_big(out, in_quarters ? 1 : 0, 1);
  put_big(out, 0, 1);
  if (in_quarters) {
    put_quarters(out, packet, blocks);
  } else {
    put_blocks(out, packet, blocks);
  }
}

// Writes the bits of R-065. Ranks without a bit are left out.
void put_missing_bits(Bytes& out, const PacketText& packet) {
  Bytes bits(static_cast<std::size_t>(packet.missing_bytes));
  for (const Ranks& range : packet.missing) {
    for (std::int64_t rank = range.first; rank < range.first + range.count; ++rank) {
      if (rank / 8 >= packet.missing_bytes) continue;
      bits[static_cast<std::size_t>(rank / 8)] |= std::byte{1} << (rank % 8);
    }
  }
  out.insert(out.end(), bits.begin(), bits.end());
}

void put_body(Bytes& out, const PacketText& packet) {
  if ((packet.flags & INFOLD_FLAG_SPARSE) != 0) return put_sparse(out, packet);
  const std::size_t start = out.size();
  switch (packet.kind) {
    case INFOLD_KIND_PARTIAL: put_partial(out, packet); return;
    case INFOLD_KIND_PENDING:
      if ((packet.flags & INFOLD_FLAG_BITS) != 0) return put_missing_bits(out, packet);
      for (const Ranks& range : packet.missing) {
        put_big(out, static_cast<std::uint64_t>(range.first), 2);
        put_big(out, static_cast<std::uint64_t>(range.count), 2);
      }
      return;
    case INFOLD_KIND_ABORT:
    case INFOLD_KIND_ABORTED:
      put_big(out, static_cast<std::uint64_t>(packet.reason), 2);
      put_big(out, static_cast<std::uint64_t>(packet.rank), 2);
      put_big(out, static_cast<std::uint64_t>(packet.other), 2);
      put_big(out, 0, 2);
      put_signature(out, packet.rank_signature);
      put_signature(out, packet.other_signature);
      return;
    default:
      put_codes(out, packet.signature, packet.codes);
      pad(out, start, 4);
      for (const std::int64_t element : packet.elements) {
        put_little(out, element, element_width(packet.signature));
      }
  }
}

void put_header(Bytes& out, const PacketText& packet) {
  std::int64_t count = 0;
  std::uint32_t digest = 0;
  for (const Ranks& range : packet.ranks) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      ++count;
      digest += digest_of(range.first + i);
    }
  }
  const std::int64_t elements = element_count(packet);
  const auto u64 = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  put_big(out, INFOLD_MAGIC, 1);
  put_big(out, packet.version << 4 | packet.kind, 1);
  put_big(out, packet.flags, 1);
  put_big(out, u64(packet.worker), 1);
  put_big(out, u64(packet.job), 2);
  put_big(out, u64(packet.slot), 2);
  put_big(out, u64(packet.epoch), 4);
  put_big(out, u64(packet.round), 4);
  // An abort belongs to no chunk.
  const bool chunkless = packet.kind == INFOLD_KIND_ABORT || packet.kind == INFOLD_KIND_ABORTED;
  put_big(out, chunkless ? 0 : u64(elements), 2);
  put_big(out, chunkless ? 0 : packet.signature.dtype << 4 | packet.signature.format, 1);
  put_big(out, chunkless ? 0 : packet.signature.collective << 4 | packet.signature.reduction, 1);
  put_big(out, chunkless ? 0 : u64(packet.signature.shape.value_or(elements)), 4);
  put_big(out, u64(packet.count.value_or(count)), 2);
  put_big(out, u64(packet.weight.value_or(packet.count.value_or(count))), 2);
  put_big(out, u64(packet.digest.value_or(digest)), 4);
}

PacketListener& listener() {
  static PacketListener the_one;
  return the_one;
}

}  // namespace

void listen_to_packets(PacketListener next) { listener() = std::move(next); }

std::uint32_t digest_of(std::int64_t rank) {
  std::uint32_t hash = (static_cast<std::uint32_t>(rank) + 1U) * 0x9E3779B1U;
  hash = (hash ^ (hash >> 16)) * 0x85EBCA6BU;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35U;
  return hash ^ (hash >> 16);
}

std::vector<std::byte> to_bytes(const PacketText& packet, const std::string& where) {
  Bytes out = packet.raw;
  if (packet.raw.empty()) {
    put_header(out, packet);
    out.insert(out.end(), packet.tag.begin(), packet.tag.end());
    put_body(out, packet);
  }
  if (static_cast<std::size_t>(packet.cut) > out.size()) {
    throw VectorError(where + ": cuts more than there is");
  }
  out.resize(out.size() - static_cast<std::size_t>(packet.cut) +
             static_cast<std::size_t>(packet.extend));
  for (const auto& [at, value] : packet.patches) out.at(static_cast<std::size_t>(at)) = value;
  if (!packet.header.empty() &&
      (packet.header.size() > out.size() ||
       !std::equal(packet.header.begin(), packet.header.end(), out.begin()))) {
    throw VectorError(where + ": 'header' disagrees with the fields, which give\n  " + hex(out));
  }
  if (listener()) listener()(packet, out);
  return out;
}

}  // namespace infold::conformance
