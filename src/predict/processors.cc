// SPDX-License-Identifier: Apache-2.0
//
// Ranks and ring: docs/benchmarks/network.md, unshaped, 4 ranks, 25 MiB, MTU 1500: 0.71, 0.49 and
// 0.34 s for a GB of f32 in chunks of 352, 704 and 1376 elements (bfp32, bfp16, bfp8), which are
// 1.00, 1.38 and 1.87 us a chunk; a line through them. Gloo's ring: 0.59 s for a GB, of which each
// rank sends and receives 1.5.
//
// Sites: docs/benchmarks/network.md, "A switch's thread": 1.05 us for a contribution and its result
// on a busy machine, where ranks took 1.19 s for a GB instead of 0.71; in between.
#include "predict/processors.h"

namespace infold::predict {

Processors measured_processors() {
  return {.rank_packet_s = 0.75e-6,
          .rank_element_s = 0.82e-9,
          .site_packet_s = 0.85e-6,
          .site_element_s = 0.1e-9,
          .ring_byte_s = 0.39e-9};
}

}  // namespace infold::predict
