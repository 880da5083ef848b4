/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of communicator.h for C, and for every language that can call C. All rules of the
 * C++ headers hold: who owns tensors until when, which threads may call, and the effect of a
 * failure on the job. No exception crosses this header, and no call stops the process.
 *
 * Functions return an infold_code. If it is not INFOLD_OK, infold_error_message() explains it in
 * one sentence, which the calling thread can read until its next call. Structs begin with their own
 * size, so that later versions can add fields. Fill them with their _default function first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This number rises when a function or struct changes in a way that older programs would notice. */
#define INFOLD_ABI_VERSION 3
uint32_t infold_abi_version(void); /* of the library that is linked */

typedef int32_t infold_code;
enum {
  INFOLD_OK = 0,
  INFOLD_ERROR_INVALID_ARGUMENT = 1,
  INFOLD_ERROR_OUT_OF_RANGE = 2,
  INFOLD_ERROR_UNSUPPORTED = 3,
  INFOLD_ERROR_RESOURCE_EXHAUSTED = 4,
  INFOLD_ERROR_MISMATCH = 5,
  INFOLD_ERROR_DEADLINE_EXCEEDED = 6,
  INFOLD_ERROR_CANCELLED = 7,
  INFOLD_ERROR_ABORTED = 8,
  INFOLD_ERROR_UNAVAILABLE = 9,
  INFOLD_ERROR_PENDING = 10 /* only from infold_wait_for */
};
const char* infold_code_name(infold_code code);
const char* infold_error_message(void);
int32_t infold_error_rank(void); /* the rank to look at, or -1 */

typedef int32_t infold_type;
enum {
  INFOLD_TYPE_F32 = 0,
  INFOLD_TYPE_F16 = 1,
  INFOLD_TYPE_BF16 = 2,
  INFOLD_TYPE_F64 = 3,
  INFOLD_TYPE_I8 = 4,
  INFOLD_TYPE_U8 = 5,
  INFOLD_TYPE_I32 = 6,
  INFOLD_TYPE_I64 = 7
};

typedef int32_t infold_op;
enum {
  INFOLD_OP_SUM = 0,
  INFOLD_OP_AVERAGE = 1,
  INFOLD_OP_MIN = 2,
  INFOLD_OP_MAX = 3,
  INFOLD_OP_OR = 4 /* of integers, bit by bit */
};

typedef int32_t infold_wire;
enum {
  INFOLD_WIRE_AUTOMATIC = 0,
  INFOLD_WIRE_BFP32 = 1,
  INFOLD_WIRE_BFP16 = 2,
  INFOLD_WIRE_BFP8 = 3,
  INFOLD_WIRE_FIXED32 = 4,
  INFOLD_WIRE_NATIVE = 5,
  INFOLD_WIRE_DIGITS = 6
};

/* Which calls go first; see options.h. */
typedef int32_t infold_priority;
enum { INFOLD_PRIORITY_AUTOMATIC = 0, INFOLD_PRIORITY_URGENT = 1, INFOLD_PRIORITY_BACKGROUND = 2 };

/* Whether blocks of zeros are left out; see options.h. */
typedef int32_t infold_layout;
enum { INFOLD_LAYOUT_DENSE = 0, INFOLD_LAYOUT_BLOCKS = 1, INFOLD_LAYOUT_AUTOMATIC = 2 };

/* Where a job's tensors are summed, and whether its ranks share memory; see join_options.h. */
typedef int32_t infold_sites;
enum {
  INFOLD_SITES_AUTOMATIC = 0,
  INFOLD_SITES_SWITCHES = 1,
  INFOLD_SITES_WORKERS = 2,
  INFOLD_SITES_MIXED = 3
};

typedef int32_t infold_shared_memory;
enum {
  INFOLD_SHARED_MEMORY_AUTOMATIC = 0,
  INFOLD_SHARED_MEMORY_OFF = 1,
  INFOLD_SHARED_MEMORY_ALWAYS = 2
};

typedef struct infold_communicator infold_communicator;
typedef struct infold_handle infold_handle;

/* All ranks of a job in this process; see local_group.h. */
typedef struct infold_local_group_options {
  size_t struct_bytes;
  int32_t world;
  int32_t rack_size;
  int32_t mtu_bytes;
  infold_wire wire;
  int64_t deadline_ns;
  double loss;
  double duplication;
  double reordering;
  uint64_t seed;
} infold_local_group_options;
infold_local_group_options infold_local_group_options_default(void);

/* Writes `world` communicators in the order of ranks. The caller destroys each of them. */
infold_code infold_local_group_create(const infold_local_group_options* options,
                                      infold_communicator** communicators);

/* Lets another thread stop joining: infold_join() then fails with INFOLD_ERROR_CANCELLED, within
 * about a second. One infold_stop may serve several joins. It must outlive them. */
typedef struct infold_stop infold_stop;
infold_code infold_stop_create(infold_stop** stop);
void infold_stop_request(infold_stop* stop); /* from any thread, also before the join */
void infold_stop_destroy(infold_stop* stop); /* null is allowed */

/* One rank of a job over the network; see join_options.h. The environment fills in fields that are
 * null, a `world` of 0 and a `rank` of -1. All text is copied. */
typedef struct infold_join_options {
  size_t struct_bytes;
  const char* const* switches; /* `switch_count` of "host:port", strings to join with, or "@path" */
  size_t switch_count;
  const char* rendezvous;
  const char* job;
  const char* address;
  const char* host;
  int32_t rank;
  int32_t world;
  infold_sites sites;
  int32_t switch_weight;
  int32_t worker_weight;
  int32_t mtu_bytes;
  int32_t offload; /* 0 or 1 */
  int32_t drivers; /* 0: automatic */
  infold_shared_memory shared_memory;
  int32_t verify; /* 0 or 1 */
  int32_t rejoin; /* 0 or 1 */
  infold_wire wire;
  int64_t deadline_ns; /* of calls, and of joining */
  infold_stop* stop;   /* null: joining cannot be stopped */
} infold_join_options;
infold_join_options infold_join_options_default(void);

/* Blocks until all ranks have joined, at most for the deadline. Null options stand for the
 * defaults. */
infold_code infold_join(const infold_join_options* options, infold_communicator** communicator);

void infold_communicator_destroy(infold_communicator* communicator); /* null is allowed */
int32_t infold_rank(const infold_communicator* communicator);
int32_t infold_world(const infold_communicator* communicator);
/* Returns the interface that packets leave from, such as "10.0.0.3 (eth1)", or "". The text belongs
 * to the communicator. */
const char* infold_interface(const infold_communicator* communicator);

typedef struct infold_call_options {
  size_t struct_bytes;
  infold_op op;
  infold_wire wire;
  infold_priority priority;
  infold_layout layout;
  int32_t keep_input;  /* 0 or 1 */
  int64_t deadline_ns; /* 0: the communicator's */
} infold_call_options;
infold_call_options infold_call_options_default(void);

/* Each of these functions starts a call and writes its handle, which the caller must destroy.
 * Waiting returns the call's own errors. The functions themselves fail only for a null
 * communicator, handle or list, or a wrong struct size. `options` may be null. Input and output may
 * be the same memory. */
infold_code infold_all_reduce(infold_communicator* communicator, const void* input, void* output,
                              size_t elements, infold_type type, const infold_call_options* options,
                              infold_handle** handle);

/* Rows of a tensor that is zero elsewhere; see rows.h. With rows of one element this is the COO
 * format. */
typedef struct infold_rows_view {
  size_t struct_bytes;
  const int64_t* indices; /* rising, `count` of them */
  const void* values;     /* count x row_elements */
  size_t count;
  size_t rows; /* of the whole tensor */
  size_t row_elements;
  infold_type type;
} infold_rows_view;
infold_rows_view infold_rows_view_default(void); /* no rows, of one element each */

/* Memory for a result in rows. Read it once its call has succeeded. After a success or a failure it
 * may serve another call. */
typedef struct infold_rows infold_rows;
infold_code infold_rows_create(infold_rows** rows);
void infold_rows_destroy(infold_rows* rows); /* null is allowed */
/* Returns a view of the memory that `rows` owns. If `rows` is null, the view has no rows. */
infold_rows_view infold_rows_view_of(const infold_rows* rows);

/* Sum rows, into rows or into the whole tensor. The view itself is read before the function
 * returns. The call borrows the memory that the view points to, like any input. */
infold_code infold_all_reduce_rows(infold_communicator* communicator, const infold_rows_view* input,
                                   infold_rows* output, const infold_call_options* options,
                                   infold_handle** handle);
infold_code infold_all_reduce_rows_dense(infold_communicator* communicator,
                                         const infold_rows_view* input, void* output,
                                         const infold_call_options* options,
                                         infold_handle** handle);

infold_code infold_reduce(infold_communicator* communicator, const void* input, void* output,
                          size_t elements, infold_type type, int32_t root,
                          const infold_call_options* options, infold_handle** handle);
infold_code infold_broadcast(infold_communicator* communicator, void* tensor, size_t elements,
                             infold_type type, int32_t root, const infold_call_options* options,
                             infold_handle** handle);
/* Reduces `count` tensors of the same type in place. Both arrays are read before this returns. */
infold_code infold_all_reduce_list(infold_communicator* communicator, void* const* tensors,
                                   const size_t* elements, size_t count, infold_type type,
                                   const infold_call_options* options, infold_handle** handle);
/* The output has infold_world() parts; the input may be this rank's part of it. */
infold_code infold_all_gather(infold_communicator* communicator, const void* input, void* output,
                              size_t part_elements, infold_type type,
                              const infold_call_options* options, infold_handle** handle);
/* The input has infold_world() parts; the output may be this rank's part of it. */
infold_code infold_reduce_scatter(infold_communicator* communicator, const void* input,
                                  void* output, size_t part_elements, infold_type type,
                                  const infold_call_options* options, infold_handle** handle);
infold_code infold_barrier(infold_communicator* communicator, const infold_call_options* options,
                           infold_handle** handle);

/* `ranks_summed` may be null. */
infold_code infold_wait(const infold_handle* handle, int32_t* ranks_summed);
infold_code infold_wait_for(const infold_handle* handle, int64_t timeout_ns, int32_t* ranks_summed);
int32_t infold_test(const infold_handle* handle); /* 1 once the call has ended, else 0 */
void infold_cancel(infold_handle* handle);
void infold_handle_destroy(infold_handle* handle); /* waits for the end of its call */

#ifdef __cplusplus
}
#endif
