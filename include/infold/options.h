// SPDX-License-Identifier: Apache-2.0
//
// The options of one call, and the report of a finished one. All structs are meant for designated
// initialisers: comm.all_reduce(gradients, {.reduction = Reduction::average}).
#pragma once

#include <chrono>
#include <cstdint>

#include <infold/vocabulary.h>

namespace infold {

// The wire format of floats that are summed. All other elements travel as they are, exactly, and
// take `automatic` only.
enum class WireFormat : std::uint8_t {
  automatic,  // the communicator's choice; if that is automatic too: native, or digits if a site of
              // the job does not sum native
  bfp32,      // blocks sharing an exponent, 32-bit mantissas: 4.04 bytes per element each way
  bfp16,      // 16-bit mantissas: 2.04 bytes
  bfp8,       // 8-bit mantissas: 1.04 bytes
  fixed32,    // 32-bit integers under exponents agreed first: for aggregators that can only add;
              // one more round trip
  native,     // the tensor's own floats; the aggregator rounds their exact sum once, to nearest
  digits,     // the same sums over aggregators that can only add: 32-bit integers, about two for
              // each f32; one more round trip
};

// How the zeros of a tensor travel. All ranks must choose alike, also if their own tensors differ.
enum class Layout : std::uint8_t {
  dense,
  // For tensors that are mostly zeros. Blocks of 32 elements (64 of f64) that are zeros at every
  // rank are left out. This costs one more round trip, or two if the tensor is long. The bits stay
  // the same. For all_reduce with sum, average or or. Refused if a site of the job does not sum
  // i32.
  blocks,
  // Chooses one of the two. The choice depends on the zeros in earlier tensors of this size and
  // type, and on the times of both ways. At first it leaves out the zeros of long tensors. After 64
  // such calls it takes the faster way. For every collective. It is dense where zeros cannot be
  // left out, if a site of the job does not sum i32, or if the tensor is below 16 KiB.
  automatic,
};

const char* wire_format_name(WireFormat wire);

struct CallOptions {
  Reduction reduction = Reduction::sum;  // of all_reduce, reduce and reduce_scatter
  WireFormat wire = WireFormat::automatic;
  Priority priority = Priority::automatic;
  Layout layout = Layout::dense;
  // From the call until it fails for good. Zero stands for the communicator's deadline.
  std::chrono::nanoseconds deadline{0};
  // For calls in place. true: a failed call leaves the tensor as it was, which costs a copy of the
  // result. false: no copy, and after a failure the tensor may hold some results.
  bool keep_input = true;
  // A number for the caller's own encoding of the elements. 0: the elements are what their type
  // says. Ranks whose numbers differ get a mismatch and no sum.
  std::uint16_t encoding = 0;
};

// A call that has succeeded.
struct Completion {
  int ranks_summed = 0;  // ranks with data in the result: all of them, in this version
};

// Counts since the communicator was made.
struct Statistics {
  std::uint64_t calls = 0;
  std::uint64_t calls_sparse = 0;      // calls that left out zeros
  std::uint64_t packets_sent = 0;      // all of them
  std::uint64_t packets_resent = 0;    // packets of packets_sent that are retransmits
  std::uint64_t packets_asked = 0;     // packets of packets_sent that only ask for a late answer
  std::uint64_t packets_received = 0;  // answers that were used
  std::uint64_t packets_ignored = 0;   // repeats, strays and damaged ones
  // Messages to the kernel and from it, each with one packet or a train of them. 0 if the path has
  // no socket.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint32_t packets_in_flight = 0;
  std::uint32_t window = 0;  // the window: the most that may be in flight now

  // The path of the job's tensors, the same at all ranks: the number of ranks that first sum in
  // their host's memory, and the number of contributions to a chunk on the network. 0 if the chunk
  // needs no network.
  std::uint32_t ranks_in_memory = 0;
  std::uint32_t contributions_on_network = 0;
};

}  // namespace infold
