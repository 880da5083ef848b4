// SPDX-License-Identifier: Apache-2.0
//
// What a caller may choose about one call, and what a finished one reports. All structs are meant
// for designated initialisers: comm.all_reduce(gradients, {.reduction = Reduction::average}).
#pragma once

#include <chrono>
#include <cstdint>

#include <infold/vocabulary.h>

namespace infold {

// How floats travel while they are summed. Everything else always travels as it is, exactly, and
// takes `automatic` only.
enum class WireFormat : std::uint8_t {
  automatic,  // the communicator's choice; where that is automatic too: bfp32 for f32 and f64,
              // bfp16 for f16 and bf16
  bfp32,      // blocks sharing an exponent, 32-bit mantissas: 4.04 bytes per element each way
  bfp16,      // 16-bit mantissas: 2.04 bytes
  bfp8,       // 8-bit mantissas: 1.04 bytes
  fixed32,    // 32-bit integers under exponents agreed first: for aggregators that can only add;
              // one more round trip
};

// How a tensor is made up. All ranks must choose alike, whatever their own tensors hold.
enum class Layout : std::uint8_t {
  dense,
  // Mostly zeros: blocks of 32 elements (64 of f64) in which no rank has anything are left out, for
  // one round trip more, or two if the tensor is long. Same bits. Of all_reduce: sum, average, or.
  // Refused where a site of the job does not sum i32.
  blocks,
  // One of the two, by what the ranks had in tensors of this size and type before, and by how long
  // both took: first zeros of long tensors are left out, 64 such calls on what turned out faster.
  // Of every collective; dense where zeros cannot be left out, a site of the job does not sum i32,
  // or the tensor is below 16 KiB.
  automatic,
};

const char* wire_format_name(WireFormat wire);

struct CallOptions {
  Reduction reduction = Reduction::sum;  // of all_reduce, reduce and reduce_scatter
  WireFormat wire = WireFormat::automatic;
  Priority priority = Priority::automatic;
  Layout layout = Layout::dense;
  // From the call until it has failed for good; zero stands for the communicator's deadline.
  std::chrono::nanoseconds deadline{0};
  // Of calls in place: a failed one leaves the tensor as it was, which costs a copy of the result.
  // false saves that; after a failure the tensor may then hold some results.
  bool keep_input = true;
  // Stands for how the caller has encoded the elements, where that is not what the type says; 0 is
  // as it is. Ranks whose numbers differ get a mismatch, never a sum.
  std::uint16_t encoding = 0;
};

// A call that has ended well.
struct Completion {
  int ranks_summed = 0;  // whose data is in the result: all of them, in this version
};

// Counts since the communicator was made.
struct Statistics {
  std::uint64_t calls = 0;
  std::uint64_t calls_without_zeros = 0;  // those of calls whose blocks of zeros were left out
  std::uint64_t packets_sent = 0;         // all of them
  std::uint64_t packets_resent = 0;       // those of packets_sent that repeat an earlier one
  std::uint64_t packets_asked = 0;        // those of packets_sent that only ask for a late answer
  std::uint64_t packets_received = 0;     // answers that were used
  std::uint64_t packets_ignored = 0;      // repeats, strays and damaged ones
  std::uint32_t packets_in_flight = 0;
  std::uint32_t window = 0;  // how many may be, at present

  // How the job's tensors travel, the same at all ranks: how many ranks sum in their host's memory
  // first, and how many contributions a chunk then has on the network, 0 where it needs none.
  std::uint32_t ranks_in_memory = 0;
  std::uint32_t contributions_on_network = 0;
};

}  // namespace infold
