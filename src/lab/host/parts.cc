// SPDX-License-Identifier: Apache-2.0
#include "lab/host/parts.h"

namespace infold::lab {

HostParts parts_of(const AloneTimes& times) {
  return {.encode_s = times.codec_s,
          .packets_s = times.machine_cached_s - times.codec_s,
          .memory_s = times.machine_s - times.machine_cached_s,
          .copies_s = times.sockets_s - times.sockets_headers_s,
          .calls_s = times.sockets_headers_s,
          .cross_s = times.sockets_apart_s > 0 ? times.sockets_apart_s - times.sockets_s : 0};
}

double sum_of(const HostParts& parts) {
  return parts.encode_s + parts.packets_s + parts.memory_s + parts.copies_s + parts.calls_s +
         parts.cross_s;
}

// Encoding writes a packet, sending reads and writes it, receiving reads and writes the answer,
// decoding reads it.
double bound_s(const CopyTimes& copies, double wire_share) {
  constexpr double kCachedCopies = 3;
  return copies.memory_s + kCachedCopies * wire_share * copies.cache_s;
}

}  // namespace infold::lab
