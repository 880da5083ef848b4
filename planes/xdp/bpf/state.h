/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the packet program and its loader: the configuration, and the values of the maps. The
 * program trusts these values, but it does not trust packets. The header is C11 and C++. The
 * structures have the layout of the maps' values, so that both sides see the same bytes.
 */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>

#include "wire/infold_wire.h"

enum {
  /* Fits into one page with a driver's headroom and tailroom and the headers of IPv6 and UDP. */
  INFOLD_XDP_DATAGRAM_BYTES_MAX = 3456,
  INFOLD_XDP_ELEMENTS_MAX = 3456,
  INFOLD_XDP_BLOCKS_MAX = INFOLD_XDP_ELEMENTS_MAX / INFOLD_BLOCK_ELEMENTS,
  INFOLD_XDP_SPECIAL_WORDS_MAX = INFOLD_XDP_ELEMENTS_MAX / 64,
  /* Room behind a stored datagram: the last block is written completely, with at most 64 lanes, and
   * a header precedes all blocks. */
  INFOLD_XDP_STORED_SLACK = 576,
  INFOLD_XDP_ADDRESSES_MAX = 4,
  INFOLD_XDP_JOB_NUMBERS = 1 << 16,
  INFOLD_XDP_SEEN_WORDS = INFOLD_WORKERS_MAX / 64,
  /* Key of the parent among a job's members, after all workers. */
  INFOLD_XDP_PARENT = INFOLD_WORKERS_MAX,
  INFOLD_XDP_MEMBERS = INFOLD_WORKERS_MAX + 1
};

/* Counters: first those of core::Verdict, then those that only a packet program has, in the order
 * of site::PlaneVerdict. */
enum infold_xdp_count {
  INFOLD_XDP_CONTRIBUTED,
  INFOLD_XDP_COMPLETED,
  INFOLD_XDP_REPLAYED,
  INFOLD_XDP_ANSWERED_PENDING,
  INFOLD_XDP_FORWARDED_AGAIN,
  INFOLD_XDP_DELIVERED,
  INFOLD_XDP_JOB_ENDED,
  INFOLD_XDP_ANSWERED_ENDED,
  INFOLD_XDP_DROPPED_MALFORMED,
  INFOLD_XDP_DROPPED_FOREIGN_JOB,
  INFOLD_XDP_DROPPED_STALE_EPOCH,
  INFOLD_XDP_DROPPED_TAG,
  INFOLD_XDP_DROPPED_WRONG_WAY,
  INFOLD_XDP_DROPPED_BAD_WORKER,
  INFOLD_XDP_DROPPED_WRONG_SOURCE,
  INFOLD_XDP_DROPPED_BAD_SLOT,
  INFOLD_XDP_DROPPED_STALE_ROUND,
  INFOLD_XDP_DROPPED_EARLY_ROUND,
  INFOLD_XDP_DROPPED_REPEAT,
  INFOLD_XDP_DROPPED_LIMITS,
  INFOLD_XDP_DROPPED_PART,
  INFOLD_XDP_VERDICT_COUNT,

  INFOLD_XDP_DROPPED_CHECKSUM = INFOLD_XDP_VERDICT_COUNT,
  INFOLD_XDP_DROPPED_BUSY,     /* another processor is changing the chunk; the worker retransmits */
  INFOLD_XDP_DROPPED_BROKEN,   /* addressed to us, with wrong lengths or IP checksum */
  INFOLD_XDP_DROPPED_UNSUMMED, /* the sender left the checksum to a card that does not exist */
  INFOLD_XDP_DROPPED_UNSENDABLE, /* the driver does not take notes, or the frame has no room */
  INFOLD_XDP_ANSWERED_PROBE,     /* */
  INFOLD_XDP_HEARD_ECHO,         /* R-017, of this host's probe to a job's parent */
  INFOLD_XDP_COUNTERS
};

struct infold_xdp_counters {
  uint64_t count[INFOLD_XDP_COUNTERS];
};

/* Datagrams to and from the aggregator, and their bytes without headers. */
struct infold_xdp_traffic {
  uint64_t received_packets;
  uint64_t received_bytes;
  uint64_t sent_packets;
  uint64_t sent_bytes;
};

/* An IPv4 address is stored as ::ffff:a.b.c.d, in network order. */
struct infold_xdp_address {
  uint64_t word[2];
};

/* Read-only data of the program. The verifier sees constants and removes unreachable code. */
struct infold_xdp_config {
  uint32_t elements_max;     /* the most elements in a chunk of any job; a multiple of 64 */
  uint32_t stored_bytes_max; /* the most bytes of a stored datagram; a multiple of 64 */
  uint32_t slots;            /* of all jobs together */
  uint32_t jobs;             /* entries of the table of jobs */
  uint32_t row_words[2];     /* words in a row of native elements: of 4 bytes, of 2 bytes */
  infold_be16 port;          /* of the aggregator */
  uint16_t address_count;
  uint8_t grows;   /* whether frames of this driver have room at their end */
  uint8_t bounces; /* whether a frame that XDP_TX sends back arrives */
  uint16_t reserved;
  struct infold_xdp_address addresses[INFOLD_XDP_ADDRESSES_MAX];
};

/* Native elements are summed in rows of 64-bit words. The map `rows_of_jobs` has rows for
 * each copy of a job that uses them. A float's sign and exponent field choose an entry of a table.
 * The entry says that the float's fraction times `factor`, plus `addend`, is added to the word in
 * the row at offset `at`. A word counts units of 2^(bits of a row x the row's number), and has room
 * for 256 contributions. The last row counts infinities and NaN. The loader fills the tables,
 * because the length of rows depends on the packets. */
struct infold_xdp_scale {
  int64_t factor;
  int64_t addend;
  uint32_t at; /* bytes */
  uint32_t reserved[3];
};
enum {
  INFOLD_XDP_ROWS_F32 = 9,
  INFOLD_XDP_ROWS_F16 = 2,
  INFOLD_XDP_ROWS_BF16 = 7,
  INFOLD_XDP_ROW_BITS_F32 = 32,
  INFOLD_XDP_ROW_BITS_BF16 = 48,
  /* A word of the last row counts infinities and NaN: those with a positive sign from bit 0 on, and
   * those with a negative sign from bit MINUS_AT on. From bit FRACTIONS_AT on, it adds up their
   * fractions, which are all 0 unless one of them is a NaN. */
  INFOLD_XDP_MINUS_AT = 16,
  INFOLD_XDP_FRACTIONS_AT = 32,
  INFOLD_XDP_ROW_GROUP = 32 /* elements that are rounded together; rows have multiples of it */
};
struct infold_xdp_scales {
  struct infold_xdp_scale f32[512];
  struct infold_xdp_scale bf16[512];
  struct infold_xdp_scale f16[64];
};

enum infold_xdp_phase {
  INFOLD_XDP_DONE,
  INFOLD_XDP_COLLECTING,
  INFOLD_XDP_FORWARDED,
  /* The chunk is complete. One processor owns the copy and writes its answer without the lock. */
  INFOLD_XDP_CLOSING
};

struct infold_xdp_contributors {
  uint16_t count;
  uint16_t weight;
  uint32_t digest;
};

/* Like core::Aggregator::Copy. */
struct infold_xdp_copy {
  uint8_t phase;
  uint8_t overrange;
  uint8_t has_lanes;
  uint8_t has_specials;
  uint32_t round;
  uint64_t signature; /* bytes 16 to 23 of the header, unchanged */
  uint16_t stored_bytes;
  uint16_t first_worker;
  uint32_t stored_sum; /* for the UDP checksum: marked_sum (planes/xdp/bpf/checksum.h), once it was
                          sent */
  struct infold_xdp_contributors contributors;
  uint64_t seen[INFOLD_XDP_SEEN_WORDS];
};

/* Both copies have one lock, because R-062 compares them. Only one of them is forwarded at a time.
 * `asking` has the workers whose repeats of the forwarded chunk went up and are not answered yet
 * . It changes without the lock. */
struct infold_xdp_slot {
  struct bpf_spin_lock lock;
  uint32_t reserved;
  struct infold_xdp_copy copies[2];
  uint64_t asking[INFOLD_XDP_SEEN_WORDS];
};

/* One bit for each element. A NaN is in both sets. */
struct infold_xdp_specials {
  uint64_t plus[INFOLD_XDP_SPECIAL_WORDS_MAX];
  uint64_t minus[INFOLD_XDP_SPECIAL_WORDS_MAX];
  uint64_t room[64 - INFOLD_XDP_SPECIAL_WORDS_MAX]; /* so that a mask bounds a count of words */
};

/* Exponents and specials of a copy. */
struct infold_xdp_codes {
  uint16_t low[INFOLD_XDP_BLOCKS_MAX];
  uint16_t high[INFOLD_XDP_BLOCKS_MAX];
  struct infold_xdp_specials sets;
};

struct infold_xdp_job {
  uint32_t epoch;
  uint16_t number;
  uint16_t slot_count;
  uint32_t slot_first; /* in the table of all slots */
  uint32_t elements_max;
  uint32_t datagram_bytes_max;
  uint16_t workers;
  uint8_t has_parent;
  uint8_t parent_worker;
  int32_t spread[4]; /* of bfp8, bfp16, bfp32; four, so that a mask bounds the index */
  uint64_t expected[INFOLD_XDP_SEEN_WORDS];
  /* The program changes these under the lock. */
  struct bpf_spin_lock lock;
  uint8_t ended;
  uint8_t root_knows;
  uint8_t is_plain;    /* each worker is exactly the rank of its number */
  uint8_t sums_native; /* `rows_of_jobs` has rows for its chunks */
  struct infold_abort abort;
  uint32_t world;
  uint8_t brief_results; /* all ranks take results without elements that they have sent */
  uint8_t reserved3[3];
  /* After the end: workers whose ABORT, or repeat of a forwarded chunk, went up and is not answered
   * yet. It changes without the lock. */
  uint64_t asking[INFOLD_XDP_SEEN_WORDS];
};

/* A direct worker, or the parent: its ranks, the sum of their digests, whether it is an
 * aggregator, its source address (R-007; all 0: any), and the address of its last packet. The
 * loader sets the parent's address and port (port 0: any), and only packets from there count as the
 * parent's. */
struct infold_xdp_member {
  uint16_t first;
  uint16_t count;
  uint32_t ifindex; /* 0: no packet yet */
  uint8_t mac[6];
  uint8_t own_mac[6];
  infold_be16 port;
  uint8_t is_aggregator;
  uint8_t reserved[5];
  uint32_t digest;
  struct infold_xdp_address address;
  struct infold_xdp_address own_address;
  struct infold_xdp_address source;
};

/* Describes the last packet from a wrong source, for the log. */
struct infold_xdp_wrong_source {
  struct infold_xdp_address address;
  uint16_t job; /* number */
  uint8_t worker;
  uint8_t reserved[5];
};

/* The receivers of a packet. A packet for workers and the parent is the end of a job, which the
 * parent gets as ABORT instead of ABORTED. A packet to its sender already has its addresses. A
 * packet for asking workers goes to the workers in the slot's `asking`, or for ABORTED in the
 * job's. */
enum {
  INFOLD_XDP_TO_WORKER = 1,
  INFOLD_XDP_TO_ALL = 2,
  INFOLD_XDP_TO_PARENT = 4,
  INFOLD_XDP_TO_SENDER = 8,
  INFOLD_XDP_TO_ASKING = 16,
  INFOLD_XDP_TO_ASKING_FOR_END = 32
};

/* A note precedes the packet, only in the host's memory, for the program at the ingress. */
enum { INFOLD_XDP_NOTE_MAGIC = 0x1f01d0f1 };
struct infold_xdp_note {
  uint32_t magic;
  uint32_t epoch;
  uint32_t job;  /* index */
  uint32_t copy; /* of the stored datagram, if the packet is too short for it */
  uint32_t round;
  uint16_t answer_bytes;
  uint8_t to;
  uint8_t worker;
  uint32_t in_packet; /* the answer is in the packet already; otherwise it is stored */
};

INFOLD_STATIC_ASSERT(sizeof(struct infold_xdp_copy) == 64, "a cache line");
INFOLD_STATIC_ASSERT(sizeof(struct infold_xdp_note) % 4 == 0, "a rule for metadata");
INFOLD_STATIC_ASSERT(sizeof(struct infold_xdp_note) <= 32, "a rule for metadata on Linux 6.1");

/* For measurements: the state to restore before each of many runs on one frame. */
enum { INFOLD_XDP_REWIND_BYTES_MAX = 3520 };
struct infold_xdp_rewind {
  uint32_t slot;
  uint32_t frame_bytes;
  uint32_t only;       /* only restores the state, so that the cost of this can be subtracted */
  uint32_t left_bytes; /* `only` cuts the frame to this length, as the aggregator does */
  struct infold_xdp_copy copies[2];
  uint8_t frame[INFOLD_XDP_REWIND_BYTES_MAX];
};
