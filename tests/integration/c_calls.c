/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/c_calls.h"

#include <stddef.h>
#include <stdint.h>

#include <infold/infold.h>

#include "tests/integration/c_testing.h"

enum { PART = 400 };

static void gather_and_scatter(infold_communicator* communicator) {
  const int32_t rank = infold_rank(communicator);
  static const float ranks_sum = 0 + 1 + 2;
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  int wrong = 0;
  int32_t gathered[RANKS * PART];
  float parts[RANKS * PART];
  float own_part[PART];
  int32_t* const place = gathered + rank * PART;
  for (int i = 0; i < PART; ++i) place[i] = 1000 * rank + i;
  code = infold_all_gather(communicator, place, gathered, PART, INFOLD_TYPE_I32, NULL, &handle);
  expect_done(code, handle, "all_gather");
  for (int i = 0; i < RANKS * PART; ++i) {
    wrong += gathered[i] != 1000 * (i / PART) + i % PART;
  }
  expect(wrong == 0, "every part is in its place");
  for (int i = 0; i < RANKS * PART; ++i) parts[i] = (float)(rank + i);
  code = infold_reduce_scatter(communicator, parts, own_part, PART, INFOLD_TYPE_F32, NULL, &handle);
  expect_done(code, handle, "reduce_scatter");
  for (int i = 0; i < PART; ++i) {
    wrong += own_part[i] != ranks_sum + (float)(RANKS * (rank * PART + i));
  }
  expect(wrong == 0, "the part is summed");
}

static void sum_lists(infold_communicator* communicator) {
  const int32_t rank = infold_rank(communicator);
  infold_call_options options = infold_call_options_default();
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  int wrong = 0;
  double few[2] = {rank, 5};
  double many[PART];
  void* tensors[3];
  const size_t elements[3] = {2, 0, PART};
  tensors[0] = few;
  tensors[1] = NULL;
  tensors[2] = many;
  for (int i = 0; i < PART; ++i) many[i] = rank * i;
  options.op = INFOLD_OP_MAX;
  code = infold_all_reduce_list(communicator, tensors, elements, 3, INFOLD_TYPE_F64, &options,
                                &handle);
  expect_done(code, handle, "a list");
  expect(few[0] == RANKS - 1 && few[1] == 5, "the first of the list");
  for (int i = 0; i < PART; ++i) wrong += many[i] != (RANKS - 1) * i;
  expect(wrong == 0, "the last of the list");
  code = infold_all_reduce_list(communicator, NULL, NULL, 0, INFOLD_TYPE_F64, NULL, &handle);
  expect_done(code, handle, "an empty list");
}

static void choose_priorities(infold_communicator* communicator) {
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  for (infold_priority priority = 0; priority <= INFOLD_PRIORITY_BACKGROUND; ++priority) {
    infold_call_options options = infold_call_options_default();
    int64_t tensor[2] = {1, 1000000007};
    expect(options.priority == INFOLD_PRIORITY_AUTOMATIC && options.keep_input == 1, "defaults");
    options.priority = priority;
    options.keep_input = 0;
    code = infold_all_reduce(communicator, tensor, tensor, 2, INFOLD_TYPE_I64, &options, &handle);
    expect_done(code, handle, "a call with a priority");
    expect(tensor[0] == RANKS && tensor[1] == 1000000007LL * RANKS, "its sum is right");
  }
}

static void sum_sparse(infold_communicator* communicator) {
  infold_call_options options = infold_call_options_default();
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  static const int where[2] = {3, 999};
  int32_t tensor[1000] = {0};
  int32_t wrong = 0;
  expect(options.layout == INFOLD_LAYOUT_DENSE, "the default layout");
  options.layout = INFOLD_LAYOUT_BLOCKS;
  tensor[where[0]] = 5;
  tensor[where[1]] = -1;
  code = infold_all_reduce(communicator, tensor, tensor, 1000, INFOLD_TYPE_I32, &options, &handle);
  expect_done(code, handle, "a sparse call");
  for (int i = 0; i < 1000; ++i) {
    wrong += tensor[i] != (i == where[0] ? 5 * RANKS : i == where[1] ? -RANKS : 0);
  }
  expect(wrong == 0, "its sum is right");
}

/* Rank 2 has no row at all. */
static void sum_rows(infold_communicator* communicator) {
  const int32_t rank = infold_rank(communicator);
  const int64_t indices[2] = {rank, 1LL << 40};
  const double values[4] = {1, 2, 30, 0};
  infold_rows_view input = infold_rows_view_default();
  infold_rows_view output;
  infold_rows* rows = NULL;
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  double whole[20];
  int wrong = 0;
  expect(infold_rows_create(&rows) == INFOLD_OK, "room for rows is made");
  output = infold_rows_view_of(rows);
  expect(output.count == 0 && output.struct_bytes == sizeof(output), "there is nothing in it");
  input.indices = indices;
  input.values = values;
  input.count = rank == 2 ? 0 : 1;
  input.rows = 10;
  input.row_elements = 2;
  input.type = INFOLD_TYPE_F64;
  for (int repeat = 0; repeat < 2; ++repeat) {
    code = infold_all_reduce_rows(communicator, &input, rows, NULL, &handle);
    expect_done(code, handle, "a sum of rows");
    output = infold_rows_view_of(rows);
    expect(output.count == 2 && output.rows == 10 && output.row_elements == 2, "its shape");
    expect(output.type == INFOLD_TYPE_F64, "its type");
    expect(output.indices[0] == 0 && output.indices[1] == 1, "which rows it has");
    for (int i = 0; i < 4; ++i) wrong += ((const double*)output.values)[i] != 1 + i % 2;
  }
  expect(wrong == 0, "their values");
  code = infold_all_reduce_rows_dense(communicator, &input, whole, NULL, &handle);
  expect_done(code, handle, "a sum of rows as a whole");
  for (int i = 0; i < 20; ++i) wrong += whole[i] != (i < 4 ? 1 + i % 2 : 0);
  expect(wrong == 0, "the whole");

  expect(infold_all_reduce_rows(communicator, NULL, rows, NULL, &handle) ==
             INFOLD_ERROR_INVALID_ARGUMENT,
         "null rows are refused");
  expect(infold_all_reduce_rows(communicator, &input, NULL, NULL, &handle) ==
             INFOLD_ERROR_INVALID_ARGUMENT,
         "so is a null result");
  input.struct_bytes = 8;
  expect(infold_all_reduce_rows_dense(communicator, &input, whole, NULL, &handle) ==
             INFOLD_ERROR_INVALID_ARGUMENT,
         "so is another struct");
  expect(infold_rows_create(NULL) == INFOLD_ERROR_INVALID_ARGUMENT, "so is a null pointer");
  infold_rows_destroy(rows);
  infold_rows_destroy(NULL);
}

static void root_and_barrier(infold_communicator* communicator) {
  const int32_t rank = infold_rank(communicator);
  infold_handle* handle = NULL;
  infold_code code = INFOLD_OK;
  const int32_t input = 1 + rank;
  int32_t output = -1;
  code = infold_reduce(communicator, &input, &output, 1, INFOLD_TYPE_I32, 1, NULL, &handle);
  expect_done(code, handle, "reduce");
  expect(output == (rank == 1 ? 6 : -1), "the root alone has the sum");
  code = infold_broadcast(communicator, &output, 1, INFOLD_TYPE_I32, 1, NULL, &handle);
  expect_done(code, handle, "broadcast");
  expect(output == 6, "then all have it");
  code = infold_barrier(communicator, NULL, &handle);
  expect_done(code, handle, "barrier");
}

void* make_every_call(void* communicator) {
  gather_and_scatter(communicator);
  sum_lists(communicator);
  choose_priorities(communicator);
  sum_sparse(communicator);
  sum_rows(communicator);
  root_and_barrier(communicator);
  return NULL;
}
