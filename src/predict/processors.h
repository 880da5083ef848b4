// SPDX-License-Identifier: Apache-2.0
//
// What packets cost processors. A rank works through its packets one after another on one
// processor, and so does each thread of a switch. This processor time bounds a placement, as links
// do. Where all parties share one machine, the sum of their times over its processors is a bound,
// too. Pure.
#pragma once

#include <span>

namespace infold::predict {

// Seconds of one processor for one chunk: so many for its packets, and so many for each element.
struct ChunkCost {
  double packet_s = 0;
  double element_s = 0;

  double of(double elements) const { return packet_s + elements * element_s; }
  friend bool operator==(const ChunkCost&, const ChunkCost&) = default;
};

// One measurement: the processor time of a chunk of so many elements.
struct ChunkTime {
  double elements = 0;
  double seconds = 0;
};

// The line through measurements that fits best, with neither part below zero. Requires: one
// measurement at least, of at least one element.
ChunkCost fit_cost(std::span<const ChunkTime> times);

// One measurement without a switch: the processor time of a rank that sums its share, for each
// chunk of the tensor.
struct SummingRank {
  unsigned ranks = 0;
  double chunk_s = 0;
};

// What a chunk of its own costs such a rank. Of a tensor's chunks, one in `ranks` is its own, and
// for each of the others it pays `other_s` in all: as a rank, or for another rank's share as a
// site. Where measurements disagree, their relative errors are least. Requires: one measurement at
// least, of a time above zero.
double fit_own_s(std::span<const SummingRank> times, double other_s);

// All zero: processors keep up with any link.
struct Processors {
  // A chunk at its rank: read, encode, send; receive, decode.
  ChunkCost rank;
  // A contribution at a site, and the result that goes back for it.
  ChunkCost site;
  // Both of these at a rank that sums its own contribution: no packet leaves the process.
  ChunkCost own;
  // A byte of a ring at its rank, sent and received.
  double ring_byte_s = 0;

  friend bool operator==(const Processors&, const Processors&) = default;
};

// On the machines of docs/benchmarks, over UDP in user space with segmentation offload.
Processors measured_processors();

}  // namespace infold::predict
