// SPDX-License-Identifier: Apache-2.0
//
// The parts of a rank's processor time. Each part is measured alone, on one thread and without the
// others. What a rank in a job needs beyond them is the remainder. Pure.
#pragma once

namespace infold::measure {

// Seconds of one processor for a GB of tensor that is sent and received once.
struct HostParts {
  double encode_s = 0;   // encoding and decoding, in the cache; for native, copying results
  double packets_s = 0;  // the state machine and its driver
  double memory_s = 0;   // the additional time of all of these if the tensor lies in memory
  double copies_s = 0;   // the part of the kernel's time that depends on the bytes it copies
  double calls_s = 0;    // system calls and the kernel's path, per message
  double cross_s = 0;    // the additional time of copies between two cores; 0 if processes share
                         // cores
};

// Measured times of parts that run alone.
struct AloneTimes {
  double codec_s = 0;            // the codec in the cache
  double machine_cached_s = 0;   // a rank without sockets, with its tensor in the cache
  double machine_s = 0;          // the same with the whole tensor
  double sockets_s = 0;          // messages through the sockets, with both ends on one core
  double sockets_headers_s = 0;  // as many messages and packets, but only headers
  double sockets_memory_s = 0;   // like sockets_s, with payloads from the whole tensor; 0: not
                                 // measured
  double sockets_apart_s = 0;    // like sockets_s, with the ends on two cores; 0: not measured
};

HostParts parts_of(const AloneTimes& times);
double sum_of(const HostParts& parts);

// The time that memcpy needs for a GB.
struct CopyTimes {
  double memory_s = 0;  // copying the tensor from memory to memory
  double cache_s = 0;   // copying bytes that stay in the L2 cache
};

// Returns the least time for this path if no byte costs the rank and the kernel more than in
// memcpy. It counts reading the tensor and writing the result, in memory, and touching packet
// buffers in the cache for each byte on the wire. `wire_share` is the bytes on the wire divided by
// the tensor's. `encodes` says that packets are written before the kernel reads them.
double bound_s(const CopyTimes& copies, double wire_share, bool encodes);

}  // namespace infold::measure
