/* SPDX-License-Identifier: Apache-2.0
 *
 * The C functions, used as a C11 program uses them: two ranks, driven by turns from one thread.
 */
#include <stdio.h>
#include <string.h>

#include <infold/infold.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "not so: %s (last error: %s)\n", what, infold_error_message());
}

static void sum_two_ranks(infold_communicator* const ranks[2]) {
  float tensors[2][3] = {{1, 2, 3}, {10, 20, 30}};
  infold_call_options options = infold_call_options_default();
  infold_handle* handles[2];
  int32_t summed = 0;
  options.deadline_ns = 5000000000;
  for (int rank = 0; rank < 2; ++rank) {
    expect(infold_all_reduce(ranks[rank], tensors[rank], tensors[rank], 3, INFOLD_TYPE_F32,
                             &options, &handles[rank]) == INFOLD_OK,
           "all_reduce starts");
  }
  for (int rank = 0; rank < 2; ++rank) {
    expect(infold_wait(handles[rank], &summed) == INFOLD_OK, "all_reduce succeeds");
    expect(summed == 2, "two ranks are summed");
    expect(tensors[rank][0] == 11 && tensors[rank][2] == 33, "the sum is right");
    expect(infold_test(handles[rank]) == 1, "the call has ended");
    infold_handle_destroy(handles[rank]);
  }
}

static void wait_for_a_late_rank(infold_communicator* const ranks[2]) {
  int64_t value = 5;
  infold_handle* handles[3];
  expect(infold_barrier(ranks[0], NULL, &handles[0]) == INFOLD_OK, "barrier starts");
  expect(infold_wait_for(handles[0], 1000000, NULL) == INFOLD_ERROR_PENDING, "rank 1 is late");
  expect(strstr(infold_error_message(), "is not done after") != NULL, "the message says so");
  expect(infold_barrier(ranks[1], NULL, &handles[1]) == INFOLD_OK, "the late barrier starts");
  expect(infold_wait(handles[0], NULL) == INFOLD_OK, "the barrier is passed");
  expect(infold_wait(handles[1], NULL) == INFOLD_OK, "by both");
  expect(infold_broadcast(ranks[0], &value, 1, INFOLD_TYPE_I64, 7, NULL, &handles[2]) == INFOLD_OK,
         "a broadcast with a wrong root gives a handle");
  expect(infold_wait(handles[2], NULL) == INFOLD_ERROR_OUT_OF_RANGE, "and fails");
  expect(strstr(infold_error_message(), "root 7 is not a rank") != NULL, "with a reason");
  for (int i = 0; i < 3; ++i) infold_handle_destroy(handles[i]);
}

static void refuse_null(void) {
  infold_local_group_options options = infold_local_group_options_default();
  infold_communicator* none = NULL;
  infold_handle* handle = NULL;
  expect(infold_barrier(NULL, NULL, &handle) == INFOLD_ERROR_INVALID_ARGUMENT, "no communicator");
  expect(infold_wait(NULL, NULL) == INFOLD_ERROR_INVALID_ARGUMENT, "no handle");
  expect(infold_local_group_create(NULL, &none) == INFOLD_ERROR_INVALID_ARGUMENT, "no options");
  options.world = 1000;
  expect(infold_local_group_create(&options, &none) == INFOLD_ERROR_OUT_OF_RANGE, "world");
  options.struct_bytes = 3;
  expect(infold_local_group_create(&options, &none) == INFOLD_ERROR_INVALID_ARGUMENT, "size");
  infold_communicator_destroy(NULL);
  infold_handle_destroy(NULL);
  infold_cancel(NULL);
  expect(infold_rank(NULL) == -1 && infold_world(NULL) == 0, "null has no rank");
  expect(strcmp(infold_code_name(INFOLD_ERROR_MISMATCH), "mismatch") == 0, "codes have names");
}

int main(void) {
  infold_local_group_options options = infold_local_group_options_default();
  infold_communicator* ranks[2] = {NULL, NULL};
  expect(infold_abi_version() == INFOLD_ABI_VERSION, "header and library are of one version");
  options.world = 2;
  options.loss = 0.01;
  expect(infold_local_group_create(&options, ranks) == INFOLD_OK, "a group is made");
  expect(infold_rank(ranks[1]) == 1 && infold_world(ranks[1]) == 2, "ranks know themselves");
  sum_two_ranks(ranks);
  wait_for_a_late_rank(ranks);
  refuse_null();
  infold_communicator_destroy(ranks[0]);
  infold_communicator_destroy(ranks[1]);
  return failures == 0 ? 0 : 1;
}
