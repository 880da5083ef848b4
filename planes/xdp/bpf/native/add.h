/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds native floats to rows of 64-bit words, without rounding and without branches: a
 * float's sign and exponent field choose its scale from a table (planes/xdp/bpf/state.h). It runs
 * under the slot's lock, where kernel 6.1 does not permit calls.
 */
#pragma once

#include "planes/xdp/bpf/take.h"

enum { kStepFloats = 16, kFloatStepsMax = INFOLD_XDP_DATAGRAM_BYTES_MAX / 2 / kStepFloats };

/* Set before loading, like `config`. */
const volatile struct infold_xdp_scales scales SEC(".rodata.scales");

/* What the loops need to know of a type. For clang, all fields except `row_words` and `last` are
 * constants. */
struct float_type {
  const volatile struct infold_xdp_scale* scales;
  uint32_t element_shift; /* log2 of an element's bytes */
  uint32_t fraction_bits;
  uint32_t row_words;
  uint32_t last; /* bytes before the row of NaN and infinities, which is the last one */
};

INLINE struct float_type type_f32(void) {
  const uint32_t words = config.row_words[0];
  return (struct float_type){scales.f32, 2, 23, words, (INFOLD_XDP_ROWS_F32 - 1) * 8 * words};
}
INLINE struct float_type type_f16(void) {
  const uint32_t words = config.row_words[1];
  return (struct float_type){scales.f16, 1, 10, words, (INFOLD_XDP_ROWS_F16 - 1) * 8 * words};
}
INLINE struct float_type type_bf16(void) {
  const uint32_t words = config.row_words[1];
  return (struct float_type){scales.bf16, 1, 7, words, (INFOLD_XDP_ROWS_BF16 - 1) * 8 * words};
}

/* Returns 0 for a row that no table has. The verifier requires this check. */
INLINE int add_float(uint8_t* words, uint32_t index, const uint8_t* from,
                     const struct float_type* type) {
  const uint32_t bits = type->element_shift == 2 ? *(const uint32_t*)from : *(const uint16_t*)from;
  const uint64_t number = bits >> type->fraction_bits;
  const struct infold_xdp_scale* const scale =
      (const void*)at_offset(type->scales, number * sizeof(struct infold_xdp_scale));
  const uint64_t row = scale->at;
  if (row > type->last) return 0;
  const uint64_t fraction = bits & ((1U << type->fraction_bits) - 1);
  uint64_t* const sum = (uint64_t*)(at_offset(words, row) + 8 * index);
  *sum += fraction * (uint64_t)scale->factor + (uint64_t)scale->addend;
  return 1;
}

INLINE void add_floats(const struct work* w, uint8_t* rows, const uint8_t* from, const uint8_t* end,
                       struct float_type* type) {
  OPAQUE(type->scales); /* otherwise clang loads the address for each element */
  const uint32_t shift = type->element_shift;
  const uint32_t elements = w->elements;
  const uint8_t* next = from;
  for (uint32_t step = 0; step < kFloatStepsMax; ++step) {
    const uint32_t first = step * kStepFloats;
    if (first + kStepFloats > elements || first + kStepFloats > type->row_words) break;
    if (next + (kStepFloats << shift) > end) break;
    uint8_t* words = rows + 8 * first;
    UNROLL for (uint32_t i = 0; i < kStepFloats; ++i) {
      if (!add_float(words, i, next + (i << shift), type)) return;
    }
    next += kStepFloats << shift;
  }
  /* Read again, as in planes/xdp/bpf/combine.h. */
  const uint32_t again = REREAD(w->elements);
  uint32_t first = again & ~(uint32_t)(kStepFloats - 1);
  uint32_t rest = again & (kStepFloats - 1);
  OPAQUE(first);
  OPAQUE(rest);
  if (first > type->row_words - kStepFloats) return;
  next = from + (first << shift);
  rows += 8 * first;
  for (uint32_t i = 0; i < kStepFloats; ++i) {
    if (i >= rest) break;
    if (next + ((i + 1) << shift) > end) break;
    if (!add_float(rows, i, next + (i << shift), type)) return;
  }
}

/* The rows of the packet's copy, or null if the job has none. */
INLINE uint8_t* rows_of(const struct work* w, const struct infold_xdp_job* job) {
  void* const of_job = entry(&rows_of_jobs, w->job);
  return of_job ? entry(of_job, w->copy - 2 * job->slot_first) : 0;
}

INLINE int add_native(struct xdp_md* ctx, struct float_type* type) {
  struct place at;
  if (!find_place(&at)) return XDP_ABORTED;
  uint8_t* const words = rows_of(at.w, at.job);
  const uint32_t from = at.w->at + INFOLD_HEADER_BYTES;
  if (!words || from > kDatagramAt6 + INFOLD_HEADER_BYTES) return XDP_ABORTED;
  const uint8_t* const elements = (const uint8_t*)(long)ctx->data + from;
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  bpf_spin_lock(&at.slot->lock);
  int outcome = admit(at.copy, at.other, at.job, at.w);
  if (outcome == kAdds) {
    at.copy->has_lanes = 1;
    add_floats(at.w, words, elements, end, type);
    outcome = close(at.copy, at.stored, at.job, at.w);
  }
  bpf_spin_unlock(&at.slot->lock);
  return settle(ctx, at.w, at.job, at.copy, outcome);
}

SEC("xdp") int add_f32(struct xdp_md* ctx) {
  struct float_type type = type_f32();
  return add_native(ctx, &type);
}
SEC("xdp") int add_f16(struct xdp_md* ctx) {
  struct float_type type = type_f16();
  return add_native(ctx, &type);
}
SEC("xdp") int add_bf16(struct xdp_md* ctx) {
  struct float_type type = type_bf16();
  return add_native(ctx, &type);
}
