// SPDX-License-Identifier: Apache-2.0
//
// The parts of a rank's processor time. Each part but the last is measured alone, on one thread and
// without the others. The last part is the remainder of a rank in a job. Pure.
#pragma once

namespace infold::lab {

// Seconds of one processor for a GB of tensor, sent and received once.
struct HostParts {
  double encode_s = 0;   // encoding and decoding, in the cache; for native, copying results
  double packets_s = 0;  // the state machine and its driver
  double memory_s = 0;   // what all of these take longer with a tensor that lies in memory
  double copies_s = 0;   // the kernel, by the bytes that it copies
  double calls_s = 0;    // system calls and the kernel's path, by the message
  double cross_s = 0;    // what copies take longer between two cores; 0 where processes share cores
};

// Times of parts run alone, as measured.
struct AloneTimes {
  double codec_s = 0;            // the codec in the cache
  double machine_cached_s = 0;   // a rank without sockets, its tensor in the cache
  double machine_s = 0;          // the same with the whole tensor
  double sockets_s = 0;          // messages through the sockets, both ends on one core
  double sockets_headers_s = 0;  // as many messages and packets, of headers alone
  double sockets_memory_s = 0;   // as sockets_s, payloads from the whole tensor; 0: not measured
  double sockets_apart_s = 0;    // as sockets_s, the ends on two cores; 0: not measured
};

HostParts parts_of(const AloneTimes& times);
double sum_of(const HostParts& parts);

// What memcpy takes for a GB.
struct CopyTimes {
  double memory_s = 0;  // of the tensor, from memory to memory
  double cache_s = 0;   // of bytes that stay in the second cache
};

// The least for this path if each byte that the rank and the kernel touch cost no more than in
// memcpy: the tensor read and the result written, in memory; and for each byte on the wire the
// touches of packet buffers in the cache. `wire_share`: bytes on the wire divided by the tensor's.
// `encodes`: packets are written before the kernel reads them.
double bound_s(const CopyTimes& copies, double wire_share, bool encodes);

}  // namespace infold::lab
