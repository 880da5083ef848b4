/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs that write the result of a complete chunk of floats from its rows, and clear
 * the rows for the copy's next chunk. Two neighbouring rows hold nearly all chunks. The results of
 * other chunks, and of sums that may be subnormal or infinite, are gathered from all rows.
 */
#pragma once

#include "planes/xdp/bpf/native/add.h"
#include "planes/xdp/bpf/native/round.h"
#include "planes/xdp/bpf/write.h"

enum { kRowGroup = INFOLD_XDP_ROW_GROUP };

/* The context of the loops over rows, groups and elements. */
struct results {
  struct work* w;
  uint8_t* rows;
  uint8_t* body;   /* of the answer */
  uint32_t low_at; /* bytes before the lower row of a pair */
  struct rounding how;
};

INLINE int64_t load_word(const uint8_t* at) { return *(const int64_t*)at; }
INLINE void clear_word(uint8_t* at) { *(int64_t*)at = 0; }

INLINE void store_float(uint8_t* out, uint32_t index, uint32_t element_shift, uint32_t bits) {
  if (element_shift == 2) {
    ((uint32_t*)out)[index] = bits;
  } else {
    ((uint16_t*)out)[index] = (uint16_t)bits;
  }
}

/* Notes a row in which some word is not 0. */
INLINE long find_row(uint32_t row, const struct results* in, const struct float_type* type) {
  uint32_t at = row * 8 * type->row_words;
  OPAQUE(at);
  if (at > type->last) return 1;
  const uint8_t* word = in->rows + at;
  const uint32_t elements = in->w->elements;
  uint64_t any = 0;
  for (uint32_t group = 0; group < kFloatStepsMax * kStepFloats / kRowGroup; ++group) {
    const uint32_t first = group * kRowGroup;
    if (first >= elements || first + kRowGroup > type->row_words) break;
    UNROLL for (uint32_t i = 0; i < kRowGroup; ++i) any |= ((const uint64_t*)word)[first + i];
  }
  in->w->used |= (uint32_t)is_not_zero(any) << (row & 31);
  return 0;
}

/* Rounds a group of sums that two rows hold, and clears their words. */
INLINE long round_group(uint32_t group, const struct results* in, const struct float_type* type,
                        const struct float_bits* bits) {
  uint32_t first = group * kRowGroup;
  uint32_t low_at = in->low_at;
  OPAQUE(first);
  OPAQUE(low_at);
  if (first > type->row_words - kRowGroup) return 1;
  if (low_at > type->last - 8 * type->row_words) return 1;
  uint8_t* const low = in->rows + low_at + 8 * first;
  uint8_t* const high = low + 8 * type->row_words;
  uint8_t* const out = in->body + (first << type->element_shift);
  UNROLL for (uint32_t i = 0; i < kRowGroup; ++i) {
    const uint32_t result =
        round_pair(load_word(low + 8 * i), load_word(high + 8 * i), &in->how, bits);
    clear_word(low + 8 * i);
    clear_word(high + 8 * i);
    store_float(out, i, type->element_shift, result);
  }
  return 0;
}

/* Gathers one sum from all its rows. It carries upwards twice: first to find the sign, then to find
 * the digits. The result depends on the highest digit that is not 0, on the digit below it, and on
 * whether any lower digit is not 0. */
INLINE uint32_t gather(uint8_t* column, const struct results* in, const struct float_type* type,
                       const struct float_bits* bits, uint32_t rows) {
  const uint32_t row_bits = bits->row_bits;
  const uint64_t mask = (1ULL << row_bits) - 1;
  const uint32_t stride = 8 * type->row_words;
  int64_t carry = 0;
  UNROLL for (uint32_t row = 0; row < rows; ++row) {
    carry = (load_word(column + row * stride) + carry) >> row_bits;
  }
  const int64_t sign = carry >> 63;
  uint64_t above = 0, rest = 0, lost = 0, place = 0;
  uint64_t before = 0, behind = 0;
  carry = 0;
  UNROLL for (uint32_t row = 0; row <= rows; ++row) {
    if (row < rows) carry += (load_word(column + row * stride) ^ sign) - sign;
    const uint64_t digit = (uint64_t)carry & mask;
    const uint64_t is_higher = 0 - is_not_zero(digit);
    above ^= (above ^ digit) & is_higher;
    rest ^= (rest ^ before) & is_higher;
    lost ^= (lost ^ behind) & is_higher;
    place ^= (place ^ row) & is_higher;
    behind |= before;
    before = digit;
    carry >>= row_bits;
    if (row < rows) clear_word(column + row * stride);
  }
  struct rounding how = in->how;
  how.field += (int32_t)(row_bits * (uint32_t)place - row_bits);
  return round_sum(above, rest, lost, (uint64_t)sign, &how, bits);
}

INLINE long gather_element(uint32_t element, const struct results* in,
                           const struct float_type* type, const struct float_bits* bits,
                           uint32_t rows) {
  OPAQUE(element);
  if (element >= type->row_words) return 1;
  const uint32_t result = gather(in->rows + 8 * element, in, type, bits, rows);
  store_float(in->body + (element << type->element_shift), 0, type->element_shift, result);
  return 0;
}

/* Writes NaN and infinities, which the last row counts. */
INLINE long overlay_counted(uint32_t element, const struct results* in,
                            const struct float_type* type, uint32_t infinity) {
  OPAQUE(element);
  if (element >= type->row_words) return 1;
  uint8_t* const word = in->rows + type->last + 8 * element;
  const uint64_t counts = (uint64_t)load_word(word);
  if (counts == 0) return 0;
  clear_word(word);
  const int has_plus = (counts & ((1U << INFOLD_XDP_MINUS_AT) - 1)) != 0;
  const int has_minus = (counts >> INFOLD_XDP_MINUS_AT & ((1U << INFOLD_XDP_MINUS_AT) - 1)) != 0;
  const int is_nan = counts >> INFOLD_XDP_FRACTIONS_AT != 0 || (has_plus && has_minus);
  const uint32_t sign = 1U << ((8U << type->element_shift) - 1);
  const uint32_t quiet = 1U << (type->fraction_bits - 1);
  store_float(in->body + (element << type->element_shift), 0, type->element_shift,
              is_nan      ? infinity | quiet
              : has_minus ? infinity | sign
                          : infinity);
  return 0;
}

/* Prepares the divisor of R-041 for the loops. Powers of two cost nothing. */
INLINE void plan_rounding(struct results* in, const struct infold_xdp_copy* copy) {
  const uint32_t count = copy->contributors.count;
  const uint32_t divisor = in->w->reduction == INFOLD_REDUCTION_AVERAGE && count > 1 ? count : 1;
  in->how.halvings = highest_bit(divisor);
  in->how.divisor = (divisor & (divisor - 1)) != 0 ? divisor : 1;
}

INLINE int find_results(struct place* at, struct results* in) {
  if (!find_place(at)) return 0;
  in->w = at->w;
  in->rows = rows_of(at->w, at->job);
  in->body = at->stored + INFOLD_HEADER_BYTES;
  in->low_at = 0;
  if (!in->rows) return 0;
  plan_rounding(in, at->copy);
  at->w->used = 0;
  return 1;
}

/* The lower of two neighbouring rows, from `first` to `last`, that hold all numbers and whose
 * results are of normal size. If there is none, more than `last`. */
INLINE uint32_t lower_row(uint32_t numbers, uint32_t first, uint32_t last) {
  uint32_t row = zeros_below(numbers);
  if (numbers == 0 || row < first) row = first;
  if (row > last) row = last;
  return (numbers & ~(3U << (row & 31))) == 0 ? row : last + 1;
}

/* The loops of a type, one for each case. */
struct loops {
  loop_body find;
  loop_body pair;
  loop_body pair_divided;
  loop_body all;
  loop_body all_divided;
  loop_body counted;
};

/* `unit` is the exponent field of the lowest unit, less 1. */
INLINE int write_floats(struct xdp_md* ctx, const struct float_type* type, uint32_t rows,
                        uint32_t row_bits, int32_t unit, uint32_t last_of_pairs,
                        const struct loops* loops) {
  struct place at;
  struct results in;
  if (!find_results(&at, &in)) return XDP_ABORTED;
  struct work* const w = at.w;
  const uint32_t elements = w->elements;
  kernel_loop(rows + 1, loops->find, &in);
  const uint32_t low = lower_row(REREAD(w->used) & ((1U << rows) - 1), 1, last_of_pairs);
  in.how.field = unit - (int32_t)in.how.halvings;
  const int divides = in.how.divisor != 1;
  if (low <= last_of_pairs) {
    in.how.field += (int32_t)(row_bits * low);
    in.low_at = low * 8 * type->row_words;
    kernel_loop((elements + kRowGroup - 1) / kRowGroup, divides ? loops->pair_divided : loops->pair,
                &in);
  } else {
    kernel_loop(elements, divides ? loops->all_divided : loops->all, &in);
  }
  if (REREAD(w->used) >> rows) kernel_loop(elements, loops->counted, &in);
  return finish(ctx, &at, INFOLD_KIND_RESULT, 0, elements << type->element_shift);
}

/* The loops and the program of a type whose sums have several rows. */
#define RESULTS(type, rows, row_bits, fraction, infinity, sign_at, unit, last_of_pairs)       \
  static long find_row_##type(uint32_t row, const void* in) {                                 \
    const struct float_type its = type_##type();                                              \
    return find_row(row, in, &its);                                                           \
  }                                                                                           \
  static long round_##type(uint32_t group, const void* in) {                                  \
    const struct float_type its = type_##type();                                              \
    const struct float_bits bits = {row_bits, fraction, infinity, sign_at, 0, 0};             \
    return round_group(group, in, &its, &bits);                                               \
  }                                                                                           \
  static long round_divided_##type(uint32_t group, const void* in) {                          \
    const struct float_type its = type_##type();                                              \
    const struct float_bits bits = {row_bits, fraction, infinity, sign_at, 1, 0};             \
    return round_group(group, in, &its, &bits);                                               \
  }                                                                                           \
  static long gather_##type(uint32_t element, const void* in) {                               \
    const struct float_type its = type_##type();                                              \
    const struct float_bits bits = {row_bits, fraction, infinity, sign_at, 0, 1};             \
    return gather_element(element, in, &its, &bits, rows);                                    \
  }                                                                                           \
  static long gather_divided_##type(uint32_t element, const void* in) {                       \
    const struct float_type its = type_##type();                                              \
    const struct float_bits bits = {row_bits, fraction, infinity, sign_at, 1, 1};             \
    return gather_element(element, in, &its, &bits, rows);                                    \
  }                                                                                           \
  static long overlay_##type(uint32_t element, const void* in) {                              \
    const struct float_type its = type_##type();                                              \
    return overlay_counted(element, in, &its, infinity);                                      \
  }                                                                                           \
  SEC("xdp") int write_##type(struct xdp_md* ctx) {                                           \
    const struct float_type its = type_##type();                                              \
    const struct loops loops = {find_row_##type, round_##type,          round_divided_##type, \
                                gather_##type,   gather_divided_##type, overlay_##type};      \
    return write_floats(ctx, &its, rows, row_bits, unit, last_of_pairs, &loops);              \
  }

/* A result of rows 1 to 6 (f32) or 1 to 4 (bf16) is neither subnormal nor infinite, even after a
 * division by up to 256. */
RESULTS(f32, INFOLD_XDP_ROWS_F32 - 1, INFOLD_XDP_ROW_BITS_F32, 23, 0x7f800000, 31, -23, 5)
RESULTS(bf16, INFOLD_XDP_ROWS_BF16 - 1, INFOLD_XDP_ROW_BITS_BF16, 7, 0x7f80, 15, -7, 3)

static long find_row_f16(uint32_t row, const void* in) {
  const struct float_type type = type_f16();
  return find_row(row, in, &type);
}

INLINE long round_group_f16(uint32_t group, const struct results* in, int divides) {
  const struct float_type type = type_f16();
  uint32_t first = group * kRowGroup;
  OPAQUE(first);
  if (first > type.row_words - kRowGroup) return 1;
  uint8_t* const word = in->rows + 8 * first;
  uint8_t* const out = in->body + 2 * first;
  UNROLL for (uint32_t i = 0; i < kRowGroup; ++i) {
    store_float(out, i, 1, round_f16(load_word(word + 8 * i), &in->how, divides));
    clear_word(word + 8 * i);
  }
  return 0;
}
static long round_f16_group(uint32_t group, const void* in) {
  return round_group_f16(group, in, 0);
}
static long round_f16_group_divided(uint32_t group, const void* in) {
  return round_group_f16(group, in, 1);
}
static long overlay_f16(uint32_t element, const void* in) {
  const struct float_type type = type_f16();
  return overlay_counted(element, in, &type, 0x7c00);
}

SEC("xdp") int write_f16(struct xdp_md* ctx) {
  struct place at;
  struct results in;
  if (!find_results(&at, &in)) return XDP_ABORTED;
  const uint32_t elements = at.w->elements;
  const uint32_t groups = (elements + kRowGroup - 1) / kRowGroup;
  kernel_loop(INFOLD_XDP_ROWS_F16, find_row_f16, &in);
  kernel_loop(groups, in.how.divisor != 1 ? round_f16_group_divided : round_f16_group, &in);
  if (REREAD(at.w->used) >> 1) kernel_loop(elements, overlay_f16, &in);
  return finish(ctx, &at, INFOLD_KIND_RESULT, 0, 2 * elements);
}
