// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/parts.h"

namespace infold::measure {
namespace {

// Returns how much longer another way takes than plain sockets, or 0 if it was not measured.
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

// A packet in the cache is touched six times, which equals three copies: encoding writes it,
// sending reads it and writes it again, receiving reads and writes the answer, and decoding reads
// it. Without encoding, sending reads the tensor, so four touches remain.
double bound_s(const CopyTimes& copies, double wire_share, bool encodes) {
  const double cached_copies = encodes ? 3 : 2;
  return copies.memory_s + cached_copies * wire_share * copies.cache_s;
}

}  // namespace infold::measure
