/* SPDX-License-Identifier: Apache-2.0
 *
 * The infold packet, byte for byte: the layout of spec/protocol.md, for C, C++ and BPF. This file
 * has layout, limits and byte order only. Header integers are big-endian, because networks expect
 * that and P4 parsers read it. Payload elements are little-endian, so that a CPU adds them without
 * swapping. Every field is aligned to its size.
 *
 *    0       1       2       3       4       5       6       7
 *   +-------+-------+-------+-------+-------+-------+-------+-------+
 *   | magic |ver|knd| flags |worker |      job      |     slot      |
 *   +-------+-------+-------+-------+-------+-------+-------+-------+
 *   |             epoch             |             round             |
 *   +-------+-------+-------+-------+-------+-------+-------+-------+
 *   |   elements    |dty|fmt|col| op|             shape             |
 *   +-------+-------+-------+-------+-------+-------+-------+-------+
 *   | contributors  |    weight     |      contributor digest       |
 *   +-------+-------+-------+-------+-------+-------+-------+-------+
 *   | [tag, 16 bytes, if INFOLD_FLAG_TAGGED] [exponents] [elements] |
 *   | or, if INFOLD_FLAG_SPARSE: infold_sparse, sets of blocks, and |
 *   | exponents and elements of what is in them, chunk by chunk     |
 */
#pragma once

#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "infold runs on little-endian hosts: payload elements are added where they lie"
#endif

/* A big-endian integer is a type of its own, so that it cannot be used unconverted. */
typedef struct {
  uint16_t wire;
} infold_be16;
typedef struct {
  uint32_t wire;
} infold_be32;

static inline uint16_t infold_from_be16(infold_be16 value) { return __builtin_bswap16(value.wire); }
static inline uint32_t infold_from_be32(infold_be32 value) { return __builtin_bswap32(value.wire); }
static inline infold_be16 infold_to_be16(uint16_t value) {
  infold_be16 result;
  result.wire = __builtin_bswap16(value);
  return result;
}
static inline infold_be32 infold_to_be32(uint32_t value) {
  infold_be32 result;
  result.wire = __builtin_bswap32(value);
  return result;
}

enum {
  INFOLD_MAGIC = 0xF1,
  INFOLD_VERSION = 1,
  /* A probe of the path to an aggregator's host, and its echo. Neither belongs to a job. */
  INFOLD_PROBE_MAGIC = 0xF0,
  INFOLD_ECHO_MAGIC = 0xF2,
  INFOLD_PROBE_BYTES_MIN = 32,
  /* A header of 32 bytes leaves room for 352 elements of 32 bits and their 11 exponents in an IPv6
   * packet of 1500 bytes. */
  INFOLD_HEADER_BYTES = 32,
  INFOLD_TAG_BYTES = 16,
  /* The seen-set of a slot is four 64-bit words. */
  INFOLD_WORKERS_MAX = 256,
  /* The largest number of aggregators that one job's chunks can go to. */
  INFOLD_SITES_MAX = 64,
  /* 2048 elements of 32 bits fill a 9000-byte MTU; 8192 is the same payload in 8-bit elements. */
  INFOLD_ELEMENTS_MAX = 8192,
  INFOLD_PAYLOAD_BYTES_MAX = 8192,
  /* A scale block: elements that share one exponent, counted from the tensor's first element. */
  INFOLD_BLOCK_ELEMENTS = 32,
  /* Tensors of f64 need two exponent bytes; blocks of 64 keep the cost per element the same. */
  INFOLD_BLOCK_ELEMENTS_F64 = 64,
  INFOLD_BLOCKS_MAX = INFOLD_ELEMENTS_MAX / INFOLD_BLOCK_ELEMENTS,
  /* With the exponent code e > 0, the block's largest magnitude lies in [2^(e-b), 2^(e-b+1)). */
  INFOLD_EXPONENT_BIAS = 120,
  INFOLD_EXPONENT_BIAS_F64 = 1104,
  INFOLD_EXPONENT_CODE_MAX = 255,
  INFOLD_EXPONENT_CODE_MAX_F64 = 4095
};

/* Kinds below 8 travel towards the root, the others towards the workers. */
enum infold_kind {
  INFOLD_KIND_ADD = 1,       /* a contribution: exponents and elements */
  INFOLD_KIND_SKIP = 2,      /* a contribution that adds nothing: header only */
  INFOLD_KIND_PARTIAL = 3,   /* an aggregator's exact sum for its parent: 64-bit lanes */
  INFOLD_KIND_OVERRANGE = 4, /* exponents at an aggregator lie too far apart: exponents only */
  INFOLD_KIND_QUERY = 5,     /* asks for the state of the chunk: header only, adds nothing */
  INFOLD_KIND_ABORT = 6,     /* the end of the job, with its reason */
  INFOLD_KIND_RESULT = 8,    /* the aggregate */
  INFOLD_KIND_REALIGN = 9,   /* asks for the chunk again, not finer than this: exponents only */
  INFOLD_KIND_PENDING = 10,  /* the ranks that a chunk still waits for */
  INFOLD_KIND_ABORTED = 11   /* the end of the job: its reason and the rank that gave it */
};

enum infold_flag {
  INFOLD_FLAG_PARTIAL = 0x01,  /* a result without all expected contributions */
  INFOLD_FLAG_SPECIALS = 0x02, /* some element is the code of a NaN or infinity */
  INFOLD_FLAG_TAGGED = 0x04,   /* 16 bytes of keyed tag follow the header */
  INFOLD_FLAG_SPARSE = 0x08,   /* zeros are left out; may hold several chunks */
  INFOLD_FLAG_BITS = 0x10      /* in PENDING: the missing ranks are a set of bits */
};

/* Returns the flags that a packet of this kind may have. */
static inline uint8_t infold_flags_of(uint32_t kind) {
  switch (kind) {
    case INFOLD_KIND_ADD: return INFOLD_FLAG_SPECIALS | INFOLD_FLAG_TAGGED | INFOLD_FLAG_SPARSE;
    case INFOLD_KIND_PARTIAL: return INFOLD_FLAG_SPECIALS | INFOLD_FLAG_TAGGED;
    case INFOLD_KIND_RESULT:
      return INFOLD_FLAG_PARTIAL | INFOLD_FLAG_SPECIALS | INFOLD_FLAG_TAGGED | INFOLD_FLAG_SPARSE;
    case INFOLD_KIND_PENDING: return INFOLD_FLAG_TAGGED | INFOLD_FLAG_BITS;
    case INFOLD_KIND_ABORTED: return INFOLD_FLAG_PARTIAL | INFOLD_FLAG_TAGGED;
    default: return INFOLD_FLAG_TAGGED;
  }
}

/* Low nibble of infold_header.format: how elements lie on the wire. */
enum infold_format {
  INFOLD_FORMAT_I8 = 0,
  INFOLD_FORMAT_I16 = 1,
  INFOLD_FORMAT_I32 = 2,
  INFOLD_FORMAT_I64 = 3,
  INFOLD_FORMAT_BFP8 = 4,
  INFOLD_FORMAT_BFP16 = 5,
  INFOLD_FORMAT_BFP32 = 6,
  INFOLD_FORMAT_NATIVE = 7, /* floats of the tensor's own type, summed exactly */
  INFOLD_FORMAT_COUNT = 8
};

/* High nibble of infold_header.format: the workers' data type. Aggregators compare it. In format
 * native they also read it; in other formats they read only whether it is f64, which has larger
 * blocks and exponents. */
enum infold_dtype {
  INFOLD_DTYPE_F32 = 0,
  INFOLD_DTYPE_F16 = 1,
  INFOLD_DTYPE_BF16 = 2,
  INFOLD_DTYPE_F64 = 3,
  INFOLD_DTYPE_I8 = 4,
  INFOLD_DTYPE_U8 = 5,
  INFOLD_DTYPE_I32 = 6,
  INFOLD_DTYPE_I64 = 7,
  INFOLD_DTYPE_COUNT = 8
};

/* Low nibble of infold_header.operation: how elements are combined. Aggregators sum an average like
 * a sum, and the receivers divide it; in format native the root divides. An average has its
 * own code, so that a mix of sum and average is found. */
enum infold_reduction {
  INFOLD_REDUCTION_SUM = 0,
  INFOLD_REDUCTION_AVERAGE = 1,
  INFOLD_REDUCTION_MIN = 2,
  INFOLD_REDUCTION_MAX = 3,
  INFOLD_REDUCTION_OR = 4, /* bitwise, for integers */
  INFOLD_REDUCTION_COUNT = 5
};

/* High nibble of infold_header.operation: the call that the chunk belongs to. Aggregators compare
 * it, and read only whether it is a broadcast or a barrier. */
enum infold_collective {
  INFOLD_COLLECTIVE_ALL_REDUCE = 0,
  INFOLD_COLLECTIVE_REDUCE = 1,
  INFOLD_COLLECTIVE_BROADCAST = 2,
  INFOLD_COLLECTIVE_BARRIER = 3,
  INFOLD_COLLECTIVE_COUNT = 4
};

struct infold_header {
  uint8_t magic;
  uint8_t version_kind; /* version in the high nibble, infold_kind in the low */
  uint8_t flags;
  uint8_t worker; /* the sender; in RESULT, REALIGN: the worker that completed the chunk; in
                   * PENDING, ABORTED: the receiver */
  infold_be16 job;
  infold_be16 slot;
  infold_be32 epoch;
  infold_be32 round; /* counts the chunks of this slot; slot and round together are the chunk's
                      * number */
  infold_be16 elements;
  uint8_t format;    /* infold_dtype << 4 | infold_format */
  uint8_t operation; /* infold_collective << 4 | infold_reduction */
  infold_be32 shape; /* element count, root and encoding, mod 2^32; see INFOLD_SHAPE_..._FACTOR */
  infold_be16 contributors;
  infold_be16 weight;
  infold_be32 contributor_digest; /* sum mod 2^32 of a hash of each contributing rank */
};

/* The factor of a call's root. It is odd, hence invertible, and large, so that a wrong root and a
 * wrong size cannot be mistaken for each other. */
#define INFOLD_SHAPE_ROOT_FACTOR 0x9E3779B1u
/* The factor of a call's encoding, a number of 16 bits. If two shapes differ by a multiple of this
 * factor, then the calls' encodings differ. Two sizes that are less than 13523 apart never differ
 * by such a multiple. */
#define INFOLD_SHAPE_ENCODING_FACTOR 0x6A09E667u

/* The payload of PENDING names the ranks that are still missing, as at most
 * INFOLD_PENDING_RANGES_MAX ranges. With INFOLD_FLAG_BITS it is a set of at most
 * INFOLD_PENDING_BYTES_MAX bytes instead, in which rank r is bit r mod 8 of byte r / 8. */
enum { INFOLD_PENDING_RANGES_MAX = 8, INFOLD_PENDING_BYTES_MAX = 32 };
struct infold_rank_range {
  infold_be16 first;
  infold_be16 count;
};

/* A body that leaves out zeros starts with the number of chunks, which are on consecutive slots,
 * and the grain. If the grain is whole blocks, a set of bits for each chunk follows: one bit for
 * each of its blocks, in little-endian words of 32 bits. The chunks come after all sets. If
 * the grain is quarters, each chunk begins with its own set, and with four bits for each block of
 * the set. */
enum { INFOLD_SPARSE_CHUNKS_MAX = 64 };
enum infold_grain { INFOLD_GRAIN_BLOCKS = 0, INFOLD_GRAIN_QUARTERS = 1, INFOLD_GRAIN_COUNT = 2 };
struct infold_sparse {
  infold_be16 chunks;
  uint8_t grain;
  uint8_t reserved; /* 0 */
};

/* The body of an exact sum for a parent begins by saying which part of how many this is. Part 0 has
 * doubles, and `lows` second doubles. Every other part has `rows` rows of 32-bit digits. */
struct infold_exact {
  uint8_t part;
  uint8_t parts;
  uint8_t first_row;
  uint8_t rows;
  infold_be16 lows;
  infold_be16 reserved; /* 0 */
};

enum infold_abort_reason {
  INFOLD_ABORT_CANCELLED = 1, /* a rank gave up a call */
  INFOLD_ABORT_DEADLINE = 2,  /* a rank's call took longer than it allowed */
  INFOLD_ABORT_MISMATCH = 3,  /* two ranks disagree about a chunk */
  INFOLD_ABORT_LEFT = 4,      /* a rank left the job */
  INFOLD_ABORT_LOST = 5,      /* a rank's process has ended, or cannot be reached */
  INFOLD_ABORT_STOPPED = 6,   /* an aggregator has stopped, or cannot be reached */
  INFOLD_ABORT_REASON_COUNT = 7
};

/* Payload of ABORT and ABORTED. `rank` gave the reason. For a mismatch, `rank` disagrees with
 * `other`, and the signatures are bytes 16 to 23 of the two headers. For a deadline, `other` is a
 * missing rank. */
struct infold_abort {
  infold_be16 reason;
  infold_be16 rank;
  infold_be16 other;
  infold_be16 reserved;
  uint8_t rank_signature[8];
  uint8_t other_signature[8];
};

#ifdef __cplusplus
#define INFOLD_STATIC_ASSERT static_assert
#else
#define INFOLD_STATIC_ASSERT _Static_assert
#endif
INFOLD_STATIC_ASSERT(sizeof(struct infold_header) == INFOLD_HEADER_BYTES, "the header is 32 bytes");
INFOLD_STATIC_ASSERT(sizeof(struct infold_rank_range) == 4, "a range is 4 bytes");
INFOLD_STATIC_ASSERT(sizeof(struct infold_sparse) == 4, "the sets of blocks stay aligned");
INFOLD_STATIC_ASSERT(sizeof(struct infold_exact) == 8, "doubles stay aligned");
INFOLD_STATIC_ASSERT(sizeof(struct infold_abort) == 24, "an abort is 24 bytes");
