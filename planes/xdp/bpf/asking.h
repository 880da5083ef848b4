/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of workers whose packets went up to the parent and have not been answered yet (R-064,
 * A slot and a job each have such a set, which changes without the lock. If a change is
 * lost, the worker asks again.
 */
#pragma once

#include "planes/xdp/bpf/consts.h"

INLINE void add_asking(uint64_t* asking, uint32_t worker) {
  __sync_fetch_and_or(&asking[worker >> 6 & 3], 1ULL << (worker & 63));
}

/* Removes the worker, and returns whether it was in the set. */
INLINE int take_asking(uint64_t* asking, uint32_t worker) {
  const uint64_t bit = 1ULL << (worker & 63);
  return (__sync_fetch_and_and(&asking[worker >> 6 & 3], ~bit) & bit) != 0;
}

INLINE int has_asking(const uint64_t* asking) {
  return (REREAD(asking[0]) | REREAD(asking[1]) | REREAD(asking[2]) | REREAD(asking[3])) != 0;
}

INLINE void clear_asking(uint64_t* asking) {
  UNROLL for (uint32_t i = 0; i < INFOLD_XDP_SEEN_WORDS; ++i) asking[i] = 0;
}
