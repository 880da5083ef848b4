// SPDX-License-Identifier: Apache-2.0
//
// What packets cost processors. A rank, and each thread of a switch, does its packets one after
// another on one processor, so that this time, too, bounds a placement. Pure.
#pragma once

#include <cstdint>

namespace infold::predict {

// Seconds of one processor. All zero: processors keep up with any link.
struct Processors {
  // A chunk at its rank: read, encode, send; receive, decode.
  double rank_packet_s = 0;
  double rank_element_s = 0;
  // A contribution at a site, and the result that goes back for it.
  double site_packet_s = 0;
  double site_element_s = 0;
  // A byte of a ring at its rank, sent and received.
  double ring_byte_s = 0;
  std::uint32_t host_threads = 1;  // of each dedicated host

  double rank_chunk_s(double elements) const { return rank_packet_s + elements * rank_element_s; }
  double site_chunk_s(double elements) const { return site_packet_s + elements * site_element_s; }
};

// On the machines of docs/benchmarks, over UDP in user space with segmentation offload.
Processors measured_processors();

}  // namespace infold::predict
