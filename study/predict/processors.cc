// SPDX-License-Identifier: Apache-2.0
//
// The table comes from docs/benchmarks/network.md, for MTU 1500.
//
// Ranks (unshaped links, 4 ranks, 25 MiB): a GB of f32 took 0.71, 0.49 and 0.34 s in chunks of 352,
// 704 and 1376 elements (bfp32, bfp16, bfp8). That is 1.00, 1.38 and 1.87 us per chunk. Gloo's ring
// took 0.59 s for a GB, of which each rank sends and receives 1.5.
//
// Sites ("A switch's thread"): a contribution and its result took 1.05 us on a busy machine, where
// ranks took 1.19 s for a GB instead of 0.71. The table has a value between that and the time on an
// idle machine.
//
// Own chunks: ranks that sum took 0.96 s for a GB with 2 ranks and 1.29 s with 4, which is 1.35 and
// 1.82 us per chunk of 352 elements. 0.87 us fits both best. The part for each element is not
// measured. It is close to a rank's, which also encodes and decodes.
#include "study/predict/processors.h"

#include <algorithm>

#include "base/check.h"

namespace infold::predict {

ChunkCost fit_cost(std::span<const ChunkTime> times) {
  CHECK(!times.empty());
  const auto count = static_cast<double>(times.size());
  double elements = 0;
  double seconds = 0;
  for (const ChunkTime& each : times) {
    elements += each.elements / count;
    seconds += each.seconds / count;
  }
  double together = 0;
  double square = 0;
  for (const ChunkTime& each : times) {
    together += (each.elements - elements) * (each.seconds - seconds);
    square += (each.elements - elements) * (each.elements - elements);
  }
  // Noise may give the line a negative slope. Then all of the cost is the packet's, as it would be
  // with a single length.
  const double slope = square > 0 ? std::max(0.0, together / square) : 0;
  const double packet_s = seconds - slope * elements;
  if (packet_s >= 0) return {packet_s, slope};
  return {0, std::max(0.0, seconds / elements)};
}

double fit_own_s(std::span<const SummingRank> times, double other_s) {
  CHECK(!times.empty());
  double together = 0;
  double square = 0;
  for (const SummingRank& each : times) {
    const double own_share = 1.0 / each.ranks;
    const double own_part = own_share / each.chunk_s;
    together += own_part * (each.chunk_s - (1 - own_share) * other_s) / each.chunk_s;
    square += own_part * own_part;
  }
  return std::max(0.0, together / square);
}

Processors measured_processors() {
  return {.rank = {0.75e-6, 0.82e-9},
          .site = {0.85e-6, 0.1e-9},
          .own = {0.6e-6, 0.75e-9},
          .ring_byte_s = 0.39e-9};
}

}  // namespace infold::predict
