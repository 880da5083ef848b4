// SPDX-License-Identifier: Apache-2.0
//
// The options of one call, and the report of a finished call. All structs are meant for designated
// initialisers: comm.all_reduce(gradients, {.reduction = Reduction::average}).
#pragma once

#include <chrono>
#include <cstdint>

#include <infold/vocabulary.h>

namespace infold {

// The wire format of floats that are summed. All other elements travel unchanged, and accept only
// `automatic`.
enum class WireFormat : std::uint8_t {
  automatic,  // the communicator's choice; if that is automatic as well: native, or digits if a
              // site of the job does not sum native
  bfp32,      // blocks that share an exponent, 32-bit mantissas: 4.04 bytes per element each way
  bfp16,      // 16-bit mantissas: 2.04 bytes
  bfp8,       // 8-bit mantissas: 1.04 bytes
  fixed32,    // 32-bit integers, after ranks have agreed on exponents: for aggregators that can
              // only add; one more round trip
  native,     // the tensor's own floats; the aggregator rounds their exact sum once, to nearest
  digits,     // the same sums over aggregators that can only add: 32-bit integers, about two for
              // each f32; one more round trip
};

// How the zeros of a tensor travel. All ranks must make the same choice, even if their tensors
// differ.
enum class Layout : std::uint8_t {
  dense,
  // Leaves out blocks of 32 elements (64 of f64) that are zeros at every rank, for tensors that are
  // mostly zeros. This costs one more round trip, or two if the tensor is long. The bits of the
  // result stay the same. It works for all_reduce with sum, average or or, and is refused if a site
  // of the job does not sum i32.
  blocks,
  // Chooses one of the two by the zeros in earlier tensors of this size and type, and by the
  // measured times of both layouts. At first it leaves out the zeros of long tensors; after 64 such
  // calls it takes the faster layout. Every collective accepts this value. It means dense where
  // zeros cannot be left out, if a site of the job does not sum i32, or if the tensor is below 16
  // KiB.
  automatic,
};

const char* wire_format_name(WireFormat wire);

struct CallOptions {
  Reduction reduction = Reduction::sum;  // for all_reduce, reduce and reduce_scatter
  WireFormat wire = WireFormat::automatic;
  Priority priority = Priority::automatic;
  Layout layout = Layout::dense;
  // The time from the call until it fails for good. Zero stands for the communicator's deadline.
  std::chrono::nanoseconds deadline{0};
  // Matters to calls in place only. If true, a failed call leaves the tensor as it was, which costs
  // a copy of the result. If false, there is no copy, and after a failure the tensor may hold some
  // results.
  bool keep_input = true;
  // Names the caller's own encoding of the elements. 0: the elements are what their type says.
  // Ranks whose numbers differ get a mismatch instead of a sum.
  std::uint16_t encoding = 0;
};

// A call that has succeeded.
struct Completion {
  int ranks_summed = 0;  // ranks with data in the result: all of them, in this version
  // The wire format that the call's elements had, such as "native" or "bfp16"; "plain" for elements
  // that travel as they are in memory, and empty for a barrier. A constant.
  const char* format = "";
};

// Counts since the communicator was made.
struct Statistics {
  std::uint64_t calls = 0;
  std::uint64_t calls_sparse = 0;      // calls that left out zeros
  std::uint64_t packets_sent = 0;      // including the two below
  std::uint64_t packets_resent = 0;    // retransmitted packets, part of packets_sent
  std::uint64_t packets_asked = 0;     // queries for a late answer, part of packets_sent
  std::uint64_t packets_received = 0;  // answers that were used
  std::uint64_t packets_ignored = 0;   // repeated, stray and damaged packets
  // Messages to and from the kernel, each with one packet or a train of packets. 0 if the path has
  // no socket.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint32_t packets_in_flight = 0;
  std::uint32_t window = 0;  // the congestion window: how many packets may be in flight now

  // The path of the job's tensors, the same at all ranks: how many ranks first sum in their host's
  // memory, and how many contributions to a chunk cross the network. The second is 0 if chunks need
  // no network.
  std::uint32_t ranks_in_memory = 0;
  std::uint32_t contributions_on_network = 0;
};

}  // namespace infold
