// SPDX-License-Identifier: Apache-2.0
//
// What packets cost processors. A rank works through its packets one after another on one
// processor, and so does each thread of a switch. This processor time limits a placement, as links
// do. If all parties share one machine, the sum of their times divided by its processors is also a
// limit. Pure.
#pragma once

#include <span>

namespace infold::predict {

// Seconds of one processor for one chunk: a part for its packets, and a part for each element.
struct ChunkCost {
  double packet_s = 0;
  double element_s = 0;

  double of(double elements) const { return packet_s + elements * element_s; }
  friend bool operator==(const ChunkCost&, const ChunkCost&) = default;
};

// One measurement: the processor time of a chunk with this many elements.
struct ChunkTime {
  double elements = 0;
  double seconds = 0;
};

// Returns the line that fits the measurements best and has no part below zero. Requires: at least
// one measurement, with at least one element.
ChunkCost fit_cost(std::span<const ChunkTime> times);

// One measurement without a switch: the processor time that a rank which sums its share needs for
// each chunk of the tensor.
struct SummingRank {
  unsigned ranks = 0;
  double chunk_s = 0;
};

// Returns what a chunk of its own costs such a rank. One in `ranks` of the tensor's chunks is its
// own. Each other chunk costs it `other_s` in total: as a rank, or as the site of another rank's
// contributions. If measurements disagree, their relative errors are minimised. Requires: at least
// one measurement, with a time above zero.
double fit_own_s(std::span<const SummingRank> times, double other_s);

// All zero means that processors keep up with any link.
struct Processors {
  // A chunk at its rank: read, encode and send; receive and decode.
  ChunkCost rank;
  // A contribution at a site, and the result that goes back for it.
  ChunkCost site;
  // Both of these at a rank that sums its own contribution, so that no packet leaves the process.
  ChunkCost own;
  // A byte of a ring that its rank sends and receives.
  double ring_byte_s = 0;

  friend bool operator==(const Processors&, const Processors&) = default;
};

// Returns costs from the machines of docs/benchmarks, over UDP in user space with segmentation
// offload.
Processors measured_processors();

}  // namespace infold::predict
