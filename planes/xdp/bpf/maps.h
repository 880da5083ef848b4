/* SPDX-License-Identifier: Apache-2.0
 *
 * The maps of the program. The loader sets their sizes before the kernel loads them, so that a
 * program for small packets takes little memory.
 */
#pragma once

#include "planes/xdp/bpf/consts.h"

/* Set before loading. The verifier takes each field as a constant. */
const volatile struct infold_xdp_config config SEC(".rodata.config");

/* Index into `jobs` plus one by job number, 0 for no such job. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, INFOLD_XDP_JOB_NUMBERS);
  __type(key, uint32_t);
  __type(value, uint32_t);
} job_indices SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_job);
} jobs SEC(".maps");

/* The key is job index x INFOLD_XDP_MEMBERS + worker. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, INFOLD_XDP_MEMBERS);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_member);
} members SEC(".maps");

/* The last packet from a wrong source. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_wrong_source);
} wrong_sources SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_slot);
} slots SEC(".maps");

/* The next three have an entry for each copy of each slot: 2 x slot + (round mod 2). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_codes);
} codes SEC(".maps");

/* The datagram that repeats get, in which integers are summed. Each entry has
 * config.stored_bytes_max bytes. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __uint(key_size, sizeof(uint32_t));
  __uint(value_size, INFOLD_XDP_DATAGRAM_BYTES_MAX + INFOLD_XDP_STORED_SLACK);
} stored SEC(".maps");

/* 64-bit lanes of block floats. Each entry has config.elements_max lanes. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __uint(key_size, sizeof(uint32_t));
  __uint(value_size, INFOLD_XDP_ELEMENTS_MAX * 8);
} lanes SEC(".maps");

/* The rows of jobs that sum native elements. Each such job has a separate map with an entry for
 * each copy of its slots. The daemon makes that map when the job starts. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(uint32_t));
  __uint(value_size, sizeof(uint32_t));
} rows_of_jobs SEC(".maps");

/* Entry 0 is for packets that belong to no job. A job's entry is its index plus one. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 2);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_counters);
} counters SEC(".maps");

/* The state of one packet across programs. A processor handles one packet at a time. */
struct work {
  struct infold_xdp_traffic traffic; /* of all packets; must be first for the loader */
  uint32_t at;                       /* of the datagram in the frame */
  uint32_t bytes;                    /* of the datagram */
  uint32_t job;                      /* index */
  uint32_t counter;                  /* entry in `counters` */
  uint32_t slot;                     /* entry in `slots` */
  uint32_t copy;                     /* entry in `codes`, `stored` and `lanes` */
  uint32_t round;
  uint32_t elements;
  uint32_t element_bytes; /* of all elements */
  uint8_t kind;
  uint8_t flags;
  uint8_t worker;
  uint8_t element_shift; /* log2 of an element's bytes */
  uint8_t is_blocks;
  uint8_t wide; /* f64: longer blocks, wider exponents */
  uint8_t reduction;
  uint8_t end_cause;    /* enum end_cause */
  uint8_t has_found;    /* specials of this packet stand in `specials` */
  uint8_t is_verified;  /* its checksum is right */
  uint8_t is_native;    /* native floats */
  uint8_t dtype;        /* as in R-020 */
  uint8_t may_be_brief; /* the answer is a single contribution, unchanged */
  uint8_t is_brief;     /* the answer goes to its sender without the elements */
  uint8_t reserved3[2];
  uint64_t signature;
  struct infold_xdp_contributors contributors;
  uint64_t seen[INFOLD_XDP_SEEN_WORDS];
  uint32_t first_worker; /* of the chunk, named in a mismatch */
  uint64_t first_signature;

  /* The step of the present block. */
  int32_t spread;
  uint8_t action;
  uint8_t lane_shift;
  uint8_t mantissa_shift;
  uint8_t overflowed; /* some sum was beyond the largest exponent code */

  /* Results of the kernel's loops (planes/xdp/bpf/consts.h). */
  uint32_t ranges; /* of missing ranks, listed in `small` */
  uint32_t first;  /* ranks of the range that was begun last */
  uint32_t after;
  uint32_t is_open; /* some chunk still needs the ended job's ranks */
  uint32_t used;    /* bit r: row r of the copy is not empty */
  uint32_t brief;   /* the worker that gets only the header */

  /* The answer: bytes of `stored`, of `small`, or the datagram that arrived. */
  uint32_t answer_bytes;
  uint32_t answer_sum;    /* of its bytes, 0 if not known */
  uint32_t answer_digest; /* of the contributors to a stored answer */
  uint8_t answer_from;
  uint8_t answer_to;
  uint8_t reserved2[2];
  uint8_t small[64];
};

INLINE int travels_down(uint32_t kind) { return kind >= INFOLD_KIND_RESULT; }

/* The specials of the present packet. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct infold_xdp_specials);
} specials SEC(".maps");

/* The reason to run the program that ends jobs. */
enum end_cause { kSaidByPacket, kMismatchedSignature, kEndedBefore };

enum answer_from { kFromStored, kFromSmall, kFromPacket };

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct work);
} works SEC(".maps");

/* The programs that may run after the first. */
#define PROGRAMS(each)                                                                             \
  each(Run, infold_switch) each(TakeBare, take_bare) each(AddIntegers, add_integers)               \
      each(AddBfp8, add_bfp8) each(AddBfp16, add_bfp16) each(AddBfp32, add_bfp32)                  \
          each(AddWide8, add_wide8) each(AddWide16, add_wide16) each(AddWide32, add_wide32)        \
              each(TakeSpecials, take_specials) each(AddPartial, add_partial)                      \
                  each(AddWidePartial, add_wide_partial) each(AddOverrange, add_overrange) each(   \
                      AddWideOverrange, add_wide_overrange) each(TakeFromParent, take_from_parent) \
                      each(TakeAbort, take_abort) each(WriteResult8, write_result8)                \
                          each(WriteResult16, write_result16) each(WriteResult32, write_result32)  \
                              each(WritePartial, write_partial) each(WriteCodes, write_codes)      \
                                  each(Answer, answer_packet) each(AnswerPending, answer_pending)  \
                                      each(AddF32, add_f32) each(AddF16, add_f16)                  \
                                          each(AddBf16, add_bf16) each(WriteF32, write_f32)        \
                                              each(WriteF16, write_f16)                            \
                                                  each(WriteBf16, write_bf16)
enum program {
#define NUMBER(name, function) k##name,
  PROGRAMS(NUMBER)
#undef NUMBER
      kPrograms
};
#define DECLARE(name, function) int function(struct xdp_md* ctx);
PROGRAMS(DECLARE)
#undef DECLARE

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, kPrograms);
  __uint(key_size, sizeof(uint32_t));
  __array(values, int(void*));
} programs SEC(".maps") = {.values = {
#define FILL(name, function) [k##name] = (void*)&function,
                               PROGRAMS(FILL)
#undef FILL
                           }};

INLINE void* entry(void* map, uint32_t index) { return bpf_map_lookup_elem(map, &index); }

INLINE void count(const struct work* w, uint32_t what) {
  struct infold_xdp_counters* const all = entry(&counters, w->counter);
  if (all && what < INFOLD_XDP_COUNTERS) ++all->count[what];
}

/* Finishes a packet and counts it. Must not be called if an earlier program has counted it. */
INLINE int drop(const struct work* w, uint32_t why) {
  count(w, why);
  return XDP_DROP;
}

INLINE void count_sent(struct work* w, uint32_t bytes) {
  ++w->traffic.sent_packets;
  w->traffic.sent_bytes += bytes;
}

/* A tail call. If it fails, the packet is lost, as on a wire. */
INLINE int go_on(struct xdp_md* ctx, uint32_t program) {
  bpf_tail_call(ctx, &programs, program);
  return XDP_ABORTED;
}
