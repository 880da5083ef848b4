// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes datagrams. parse() checks bytes from any sender once and turns them into a view,
// and compares every length with the datagram's length. The write functions do the reverse. Views
// borrow the datagram. Bodies with an order of their own have readers beside this one, such as
// sparse_body.h and exact_body.h, and the kernel's packet program has its own parser.
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

// Returns whether packets of this kind travel towards the workers.
constexpr bool travels_down(Kind kind) { return kind >= Kind::result; }

// The fields on which all packets of a chunk must agree: bytes 16 to 23 of the header.
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

// Returns whether the format, data type, reduction and collective exist and go together.
bool is_known_format(const ChunkSignature& signature);

// The ranks that have contributed to a chunk. Sums wrap, and equal sets of ranks give equal digests
//
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

// Returns a rank's part of a digest.
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
  // Each pointer points into the datagram, and is null if the kind has no such part.
  const std::byte* exponents = nullptr;
  const std::byte* elements = nullptr;
  const std::byte* specials = nullptr;  // in a partial sum: the two bit sets
  std::span<const std::byte> body;      // everything after the header and the tag
  // If not null, `exponents` and `elements` have only these blocks, one after another. SparseReader
  // sets it.
  const BlockSet* present = nullptr;
  bool is_bundled = false;   // the packet also has contributions to other chunks
  bool in_quarters = false;  // quarters were left out; `elements` has zeros in their place
  bool is_brief = false;     // a RESULT without the elements, which its receiver has sent

  bool has_specials() const { return (header.flags & INFOLD_FLAG_SPECIALS) != 0; }
  // Whether the packet leaves out zeros, in one or several chunks; see sparse_body.h.
  bool is_sparse() const { return (header.flags & INFOLD_FLAG_SPARSE) != 0; }
};

// Why parse() refuses a datagram.
enum class Malformed : std::uint8_t {
  none,
  truncated,     // shorter than a header, or than the header says
  oversized,     // longer than the header says
  magic,         // not infold's
  version,       // a protocol version that this build does not know
  kind,          // no such kind
  format,        // an unknown format, type, reduction or collective, or a wrong combination
  elements,      // more elements than any chunk has
  contributors,  // a contribution without contributors, or contributors without a contribution
  flags,         // flags that packets of this kind do not have
  reserved,      // padding, or a field that this kind leaves empty, is not 0
  codes,         // an exponent code that does not exist
  abort,         // a reason that does not exist
  exact,         // an exact sum whose parts, rows or pairs do not exist
  sparse,        // zeros left out where that is not allowed, or blocks that do not exist
};

// Returns whether a RESULT has the unchanged elements of one contribution. The rank that sent them
// does not need them back.
bool may_be_brief(const Header& header);

// Checks only lengths and fields. The receiver checks whether the packet fits its job.
Malformed parse(std::span<const std::byte> datagram, Packet& packet);

// Returns the job that a datagram names, whatever else is wrong with it, so that the job can count
// malformed datagrams. Returns nothing if the header is incomplete.
std::optional<std::uint16_t> named_job(std::span<const std::byte> datagram);

// Writes 32 bytes. Requires: out.size() >= INFOLD_HEADER_BYTES.
void write_header(const Header& header, std::span<std::byte> out);

// Write and read the exponent codes of `blocks` blocks: u8, or big-endian u16 for f64.
void write_codes(ElementLayout layout, const std::uint16_t* codes, std::uint32_t blocks,
                 std::byte* out);
void read_codes(ElementLayout layout, const std::byte* wire, std::uint32_t blocks,
                std::uint16_t* codes);

// Checks that `count` adjacent codes exist, and that the bytes after them up to a multiple of
// `unit` are 0.
Malformed check_codes(ElementLayout layout, const std::byte* codes, std::uint32_t count,
                      std::uint32_t unit);

// Returns the length in bytes of a datagram of this kind, without a tag.
std::size_t datagram_bytes(Kind kind, ElementLayout layout, std::uint32_t elements, bool specials);

struct RankRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

constexpr bool contains(RankRange range, std::uint32_t rank) {
  return rank >= range.first && rank < std::uint32_t{range.first} + range.count;
}
// Returns the first range that contains the rank, or null.
const RankRange* find_range(std::span<const RankRange> ranges, std::uint32_t rank);

// A bounded list of ranks, as ranges in rising order.
struct RankRanges {
  RankRange range[INFOLD_PENDING_RANGES_MAX];
  std::uint32_t count = 0;

  bool contains(std::uint16_t rank) const;
  // Joins the range to the last one if they touch. If the list is full, drops the range, so that
  // the list still names the first missing ranks correctly.
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

// The forms in which the body of PENDING names the missing ranks.
enum class PendingForm : std::uint8_t {
  ranges,
  bits,
  either,  // ranges, or bits if ranges cannot hold all missing ranks
};
// Returns the form that a body takes. The missing ranks are in rising order.
PendingForm form_of(PendingForm form, std::span<const RankRange> missing);
// Requires: the form is ranges or bits.
std::size_t write_missing(std::span<const RankRange> missing, PendingForm form, std::uint32_t world,
                          std::byte* out);
// Reads the missing ranks, up to the first ranges that a RankRanges can hold. Returns nothing if a
// range is empty or names a rank beyond the world.
std::optional<RankRanges> read_missing(const Packet& packet, std::uint32_t world);
enum class Presence : std::uint8_t { there, missing, not_said };
// Returns whether the aggregator has the rank's contribution. A full list of ranges does not say
// anything about later ranks.
Presence presence_in(const Packet& packet, std::uint16_t rank);
void write_abort(const Abort& abort, std::byte* out);
std::optional<Abort> read_abort(std::span<const std::byte> body);
// Returns whether an abort names only ranks of the job, or one of its sites.
bool names_members(const Abort& abort, std::uint32_t world);

}  // namespace infold::core
