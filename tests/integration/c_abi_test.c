/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the C functions from a C11 program. First one thread drives two ranks by turns. Then each
 * rank has a thread, in one process and joined over loopback.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <infold/infold.h>

#include "tests/integration/c_calls.h"
#include "tests/integration/c_testing.h"

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

static void make_every_call_in_a_group(void) {
  infold_local_group_options options = infold_local_group_options_default();
  infold_communicator* ranks[RANKS] = {NULL};
  void* arguments[RANKS];
  options.world = RANKS;
  options.deadline_ns = PATIENCE_NS;
  expect(infold_local_group_create(&options, ranks) == INFOLD_OK, "a group is made");
  for (int rank = 0; rank < RANKS; ++rank) arguments[rank] = ranks[rank];
  run_threads(make_every_call, arguments);
  for (int rank = 0; rank < RANKS; ++rank) {
    expect(strcmp(infold_interface(ranks[rank]), "") == 0, "no packet leaves a group");
    infold_communicator_destroy(ranks[rank]);
  }
}

static void* join_and_call(void* argument) {
  const infold_join_options* const options = argument;
  const int is_in_memory = options->shared_memory == INFOLD_SHARED_MEMORY_ALWAYS;
  const char* interface = "";
  infold_communicator* communicator = NULL;
  expect(infold_join(options, &communicator) == INFOLD_OK, "a rank joins");
  if (communicator == NULL) return NULL;
  expect(infold_rank(communicator) == options->rank, "it has its rank");
  expect(infold_world(communicator) == RANKS, "and the job's world");
  interface = infold_interface(communicator);
  expect(strncmp(interface, is_in_memory ? "" : "127.0.0.1", 9) == 0, "packets leave from there");
  make_every_call(communicator);
  infold_communicator_destroy(communicator);
  return NULL;
}

static void join_over_loopback(infold_shared_memory shared_memory, int32_t verify) {
  infold_join_options options[RANKS];
  void* arguments[RANKS];
  char address[ADDRESS_BYTES];
  find_address(address);
  for (int32_t rank = 0; rank < RANKS; ++rank) {
    options[rank] = join_options(rank, address);
    options[rank].shared_memory = shared_memory;
    options[rank].host = "one";
    options[rank].address = "127.0.0.1";
    options[rank].verify = verify;
    arguments[rank] = &options[rank];
  }
  run_threads(join_and_call, arguments);
}

static void join_from_environment(void) {
  infold_communicator* communicator = NULL;
  char address[ADDRESS_BYTES];
  expect(infold_join(NULL, &communicator) == INFOLD_ERROR_INVALID_ARGUMENT, "nothing is said");
  expect(strstr(infold_error_message(), "no rank: set JoinOptions.rank") != NULL, "no rank");
  find_address(address);
  setenv("INFOLD_RANK", "0", 1);
  setenv("INFOLD_WORLD", "1", 1);
  setenv("INFOLD_RENDEZVOUS", address, 1);
  expect(infold_join(NULL, &communicator) == INFOLD_OK, "the environment says all");
  expect(infold_rank(communicator) == 0 && infold_world(communicator) == 1, "rank and world");
  infold_communicator_destroy(communicator);
  unsetenv("INFOLD_RANK");
  unsetenv("INFOLD_WORLD");
  unsetenv("INFOLD_RENDEZVOUS");
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
  infold_communicator_destroy(ranks[0]);
  infold_communicator_destroy(ranks[1]);
  make_every_call_in_a_group();
  join_over_loopback(INFOLD_SHARED_MEMORY_OFF, 0);
  join_over_loopback(INFOLD_SHARED_MEMORY_ALWAYS, 1);
  join_from_environment();
  return exit_status();
}
