// SPDX-License-Identifier: Apache-2.0
#include "lab/host/parts.h"

namespace infold::lab {
namespace {

// What another way takes longer than sockets alone. 0 if it was not measured.
double added(double other_s, const AloneTimes& times) {
  return other_s > 0 ? other_s - times.sockets_s : 0;
}

}  // namespace

HostParts parts_of(const AloneTimes& times) {
  return {
      .encode_s = times.codec_s,
      .packets_s = times.machine_cached_s - times.codec_s,
      .memory_s = times.machine_s - times.machine_cached_s + added(times.sockets_memory_s, times),
      .copies_s = times.sockets_s - times.sockets_headers_s,
      .calls_s = times.sockets_headers_s,
      .cross_s = added(times.sockets_apart_s, times)};
}

double sum_of(const HostParts& parts) {
  return parts.encode_s + parts.packets_s + parts.memory_s + parts.copies_s + parts.calls_s +
         parts.cross_s;
}

// Encoding writes a packet, sending reads it and writes it again, receiving reads and writes the
// answer, decoding reads it: six touches, which are three copies. Without encoding, sending reads
// the tensor: four touches.
double bound_s(const CopyTimes& copies, double wire_share, bool encodes) {
  const double cached_copies = encodes ? 3 : 2;
  return copies.memory_s + cached_copies * wire_share * copies.cache_s;
}

}  // namespace infold::lab
