// SPDX-License-Identifier: Apache-2.0
//
// Datagrams, checked once. parse() turns bytes from anywhere into a view whose every length has
// been compared with the datagram's; nothing else in infold reads raw bytes of a peer. write_*()
// is its inverse. Views borrow the datagram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/format.h"
#include "core/packet/block_set.h"
#include "wire/infold_wire.h"

namespace infold::core {

enum class Kind : std::uint8_t {
  add = INFOLD_KIND_ADD,
  skip = INFOLD_KIND_SKIP,
  partial = INFOLD_KIND_PARTIAL,
  overrange = INFOLD_KIND_OVERRANGE,
  query = INFOLD_KIND_QUERY,
  abort = INFOLD_KIND_ABORT,
  result = INFOLD_KIND_RESULT,
  realign = INFOLD_KIND_REALIGN,
  pending = INFOLD_KIND_PENDING,
  aborted = INFOLD_KIND_ABORTED,
};

// Towards the workers.
constexpr bool travels_down(Kind kind) { return kind >= Kind::result; }

// What all packets of one chunk must agree about: bytes 16 to 23 of the header.
struct ChunkSignature {
  std::uint16_t elements = 0;
  std::uint8_t format = 0;
  std::uint8_t operation = 0;
  std::uint32_t shape = 0;

  friend bool operator==(const ChunkSignature&, const ChunkSignature&) = default;

  void set_layout(ElementLayout layout) {
    format = static_cast<std::uint8_t>(static_cast<unsigned>(layout.dtype) << 4 |
                                       static_cast<unsigned>(layout.format));
  }
  void set_operation(Collective collective, Reduction reduction) {
    operation = static_cast<std::uint8_t>(static_cast<unsigned>(collective) << 4 |
                                          static_cast<unsigned>(reduction));
  }
  ElementLayout layout() const {
    return {static_cast<WireFormat>(format & 0xF), static_cast<DataType>(format >> 4)};
  }
  Reduction reduction() const { return static_cast<Reduction>(operation & 0xF); }
  Collective collective() const { return static_cast<Collective>(operation >> 4); }
};

// Whether there is such a format, data type, reduction and collective, and these go together.
bool is_known_format(const ChunkSignature& signature);

// Who has added to a chunk. Sums wrap; equal sets give equal digests.
struct Contributors {
  std::uint16_t count = 0;
  std::uint16_t weight = 0;
  std::uint32_t digest = 0;

  friend bool operator==(const Contributors&, const Contributors&) = default;
  Contributors& operator+=(const Contributors& other) {
    count = static_cast<std::uint16_t>(count + other.count);
    weight = static_cast<std::uint16_t>(weight + other.weight);
    digest += other.digest;
    return *this;
  }
};

// A rank's share of a digest.
constexpr std::uint32_t rank_digest(std::uint16_t rank) {
  std::uint32_t hash = (rank + 1U) * INFOLD_SHAPE_ROOT_FACTOR;
  hash = (hash ^ (hash >> 16)) * 0x85EBCA6BU;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35U;
  return hash ^ (hash >> 16);
}

struct Header {
  Kind kind = Kind::add;
  std::uint8_t flags = 0;
  std::uint8_t worker = 0;
  std::uint16_t job = 0;
  std::uint16_t slot = 0;
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  ChunkSignature signature;
  Contributors contributors;
};

struct Packet {
  Header header;
  // Each points into the datagram, and is null where the kind has no such part.
  const std::byte* exponents = nullptr;
  const std::byte* elements = nullptr;
  const std::byte* specials = nullptr;  // of a partial sum: the two bit sets
  std::span<const std::byte> body;      // all that follows the header and the tag
  // Which blocks the above are of, side by side; null: all. Set by SparseReader.
  const BlockSet* present = nullptr;
  bool is_bundled = false;   // came with contributions to other chunks
  bool in_quarters = false;  // quarters of blocks were left out; what is here has their zeros
  bool is_brief = false;     // a RESULT without the elements that its receiver has sent

  bool has_specials() const { return (header.flags & INFOLD_FLAG_SPECIALS) != 0; }
  // Leaves out zeros, of one or several chunks: see sparse_body.h.
  bool is_sparse() const { return (header.flags & INFOLD_FLAG_SPARSE) != 0; }
};

// Why bytes are not a packet.
enum class Malformed : std::uint8_t {
  none,
  truncated,     // shorter than a header, or than the header says
  oversized,     // longer than the header says
  magic,         // not infold's
  version,       // of a protocol this build does not speak
  kind,          // no such kind
  format,        // no such element format, data type, reduction or collective, or not together
  elements,      // more elements than any chunk has
  contributors,  // a contribution of nobody, or nothing from somebody
  flags,         // that packets of this kind do not have
  reserved,      // padding, or a field that this kind leaves empty, is not 0
  codes,         // an exponent code that does not exist
  abort,         // a reason that does not exist
  exact,         // an exact sum whose parts, rows or pairs do not exist
  sparse,        // zeros left out where they say something, or of blocks that are not there
};

// Whether a RESULT has the elements of one contribution, as they came. The rank that sent them can
// do without them.
bool may_be_brief(const Header& header);

// Length and field checks only; whether the packet fits a job is the receiver's question.
Malformed parse(std::span<const std::byte> datagram, Packet& packet);

// The job that a datagram names, whatever else is wrong with it: what is malformed counts there.
// Nothing without a whole header.
std::optional<std::uint16_t> named_job(std::span<const std::byte> datagram);

// Writes 32 bytes. Requires: out.size() >= INFOLD_HEADER_BYTES.
void write_header(const Header& header, std::span<std::byte> out);

// Exponent codes to and from the wire, for `blocks` blocks; u8, or big-endian u16 for f64.
void write_codes(ElementLayout layout, const std::uint16_t* codes, std::uint32_t blocks,
                 std::byte* out);
void read_codes(ElementLayout layout, const std::byte* wire, std::uint32_t blocks,
                std::uint16_t* codes);

// Whether `count` codes side by side exist, and the bytes behind them up to a multiple of `unit`
// are 0.
Malformed check_codes(ElementLayout layout, const std::byte* codes, std::uint32_t count,
                      std::uint32_t unit);

// Bytes of a datagram of this kind, untagged.
std::size_t datagram_bytes(Kind kind, ElementLayout layout, std::uint32_t elements, bool specials);

struct RankRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

constexpr bool contains(RankRange range, std::uint32_t rank) {
  return rank >= range.first && rank < std::uint32_t{range.first} + range.count;
}
// The first range that the rank is in, or null.
const RankRange* find_range(std::span<const RankRange> ranges, std::uint32_t rank);

// A bounded list of ranks, as ranges in rising order.
struct RankRanges {
  RankRange range[INFOLD_PENDING_RANGES_MAX];
  std::uint32_t count = 0;

  bool contains(std::uint16_t rank) const;
  // Joins the range to the last one where they touch; drops it when the list is full, so that a
  // list names at least its first ranks truthfully.
  void append(RankRange next);
};

enum class AbortReason : std::uint8_t {
  cancelled = INFOLD_ABORT_CANCELLED,
  deadline = INFOLD_ABORT_DEADLINE,
  mismatch = INFOLD_ABORT_MISMATCH,
  left = INFOLD_ABORT_LEFT,
  lost = INFOLD_ABORT_LOST,
  stopped = INFOLD_ABORT_STOPPED,
};

struct Abort {
  AbortReason reason = AbortReason::cancelled;
  std::uint16_t rank = 0;
  std::uint16_t other = 0;
  ChunkSignature rank_signature;
  ChunkSignature other_signature;
};

// The bodies of PENDING, in either form, and ABORT/ABORTED. An abort of another length or with an
// unknown reason is nothing.
enum class PendingForm : std::uint8_t {
  ranges,
  bits,
  either,  // ranges, or bits where ranges would not hold all that are missing
};
// The form that a body takes. The missing ranks are in rising order.
PendingForm form_of(PendingForm form, std::span<const RankRange> missing);
// Requires: not `either`.
std::size_t write_missing(std::span<const RankRange> missing, PendingForm form, std::uint32_t world,
                          std::byte* out);
// Those of the first ranges; nothing if a rank beyond the world is among them.
std::optional<RankRanges> read_missing(const Packet& packet, std::uint32_t world);
enum class Presence : std::uint8_t { there, missing, not_said };
// Whether the aggregator has the rank's contribution. A full list of ranges ends before later
// ranks.
Presence presence_in(const Packet& packet, std::uint16_t rank);
void write_abort(const Abort& abort, std::byte* out);
std::optional<Abort> read_abort(std::span<const std::byte> body);
// Whether an abort names ranks of the job alone, or one of its sites.
bool names_members(const Abort& abort, std::uint32_t world);

}  // namespace infold::core
