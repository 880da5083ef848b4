// SPDX-License-Identifier: Apache-2.0
//
// Converts packets in vectors from text to bytes and back. This encoder is written only from
// spec/protocol.md and wire/infold_wire.h, because with the core's encoder an error in the core
// would not show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/text/vector_file.h"
#include "wire/infold_wire.h"

namespace infold::conformance {

struct Ranks {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool is_range = false;  // written with a dash, even for one rank
};

// The four header fields that all packets of a chunk share.
struct Signature {
  std::optional<std::int64_t> elements;  // absent: the payload's, or those of the packet before
  std::int64_t last_elements = 0;
  unsigned format = INFOLD_FORMAT_I32;
  unsigned dtype = INFOLD_DTYPE_I32;
  unsigned reduction = INFOLD_REDUCTION_SUM;
  unsigned collective = INFOLD_COLLECTIVE_ALL_REDUCE;
  std::optional<std::int64_t> shape;  // if absent: one tensor with just these elements, and root 0
};

struct PacketText {
  unsigned kind = INFOLD_KIND_ADD;
  unsigned version = INFOLD_VERSION;
  unsigned flags = 0;
  std::int64_t worker = 0;
  std::int64_t port = 1;  // the port of its worker, for an injected packet
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  std::int64_t slot = 0;
  std::int64_t round = 1;
  Signature signature;
  std::vector<Ranks> ranks;                           // ranks whose contributions it has
  std::optional<std::int64_t> count, weight, digest;  // in place of those of `ranks`

  std::vector<std::int64_t> elements;  // integers, mantissas or lanes; in native the bits of floats
  std::vector<std::int64_t> codes;     // exponent codes; of a partial sum the lowest
  std::vector<std::int64_t> high_codes;
  std::vector<std::int64_t> plus, minus;  // elements with specials, of a partial sum
  // For a packet that leaves out blocks: the blocks of each chunk in it. The lists above then have
  // these blocks, one chunk after the other.
  std::vector<std::vector<std::int64_t>> held;
  // Four bits for the quarters of each of these blocks, if the packet leaves out quarters. The
  // lists of elements then have only the quarters with a bit.
  std::vector<std::vector<std::int64_t>> quarters;
  // Describes a partial sum of native. The doubles of part 0 are in `elements`, and all doubles are
  // bits.
  std::int64_t part = 0;
  std::int64_t parts = 1;
  std::vector<std::int64_t> second;     // second doubles
  std::vector<std::int64_t> second_at;  // their elements, unless the type is f64
  std::int64_t first_row = 0;
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<Ranks> missing;
  std::int64_t missing_bytes = 0;  // bytes of the set of bits
  std::int64_t reason = INFOLD_ABORT_CANCELLED;
  std::int64_t rank = 0;
  std::int64_t other = 0;
  std::vector<std::byte> rank_signature, other_signature;

  std::vector<std::byte> tag;
  std::vector<std::byte> raw;  // in place of all of the above
  std::int64_t cut = 0;        // bytes missing at the end
  std::int64_t extend = 0;     // zero bytes too many
  std::map<std::int64_t, std::byte> patches;
  std::vector<std::byte> header;  // an expectation's first bytes, spelled out as a cross-check
};

// Reads fields until the cursor's end or the word `expect` or `and`, over the defaults in `packet`.
void read_fields(Cursor& cursor, PacketText& packet);

// The datagram. Throws VectorError when `header` disagrees with the fields.
std::vector<std::byte> to_bytes(const PacketText& packet, const std::string& where);

// From now on, calls the function with each packet that to_bytes() makes, and its bytes.
using PacketListener = std::function<void(const PacketText&, const std::vector<std::byte>&)>;
void listen_to_packets(PacketListener listener);

// For failures: returns the fields, then all bytes in hex.
std::string describe(const std::vector<std::byte>& datagram);
std::string hex(const std::vector<std::byte>& bytes);

std::vector<Ranks> take_ranks(Cursor& cursor);
// Computes the digest of R-015 a second time.
std::uint32_t digest_of(std::int64_t rank);

// Index of the word in the enumerations of the wire header, or nothing.
std::optional<unsigned> dtype_named(const std::string& word);
std::optional<unsigned> format_named(const std::string& word);
std::optional<unsigned> reduction_named(const std::string& word);
std::optional<unsigned> collective_named(const std::string& word);
std::optional<unsigned> kind_named(const std::string& word);
std::optional<unsigned> reason_named(const std::string& word);
const char* kind_name(unsigned kind);

inline bool ends_job(unsigned kind) {
  return kind == INFOLD_KIND_ABORT || kind == INFOLD_KIND_ABORTED;
}

}  // namespace infold::conformance
