/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded only for measurements: restores a frame and a slot, then runs the aggregator, so that a
 * test-run can repeat an operation that changes both.
 */
#pragma once

#include "planes/xdp/bpf/maps.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_rewind);
} rewinds SEC(".maps");

SEC("xdp") int rewind_and_run(struct xdp_md* ctx) {
  struct infold_xdp_rewind* const to = entry(&rewinds, 0);
  if (!to) return XDP_ABORTED;
  const int note_bytes = (int)(ctx->data - ctx->data_meta);
  if (note_bytes != 0 && bpf_xdp_adjust_meta(ctx, note_bytes)) return XDP_ABORTED;
  uint32_t bytes = to->frame_bytes;
  const int more = (int)bytes - (int)(ctx->data_end - ctx->data);
  if (more != 0 && bpf_xdp_adjust_tail(ctx, more)) return XDP_ABORTED;
  if (bytes > sizeof(to->frame)) return XDP_ABORTED;
  OPAQUE(bytes); /* otherwise clang merges both comparisons into one of a difference */
  if (bytes < kEthernetBytes) return XDP_ABORTED;
  if (bpf_xdp_store_bytes(ctx, 0, to->frame, bytes)) return XDP_ABORTED;
  struct infold_xdp_slot* const slot = entry(&slots, to->slot);
  if (!slot) return XDP_ABORTED;
  uint64_t* const into = (uint64_t*)slot->copies;
  const uint64_t* const from = (const uint64_t*)to->copies;
  UNROLL for (uint32_t i = 0; i < sizeof(to->copies) / 8; ++i) into[i] = from[i];
  if (!to->only) return go_on(ctx, kRun);
  const int less = (int)to->left_bytes - (int)bytes;
  return less < 0 && bpf_xdp_adjust_tail(ctx, less) ? XDP_ABORTED : XDP_PASS;
}
