/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the refusals of the C functions: null pointers, impossible options and calls, and ranks
 * that disagree. Each refusal has a code and a message.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infold/infold.h>

#include "tests/integration/c_testing.h"

static void* join_and_be_refused(void* options) {
  infold_communicator* none = NULL;
  expect(infold_join(options, &none) == INFOLD_ERROR_MISMATCH && none == NULL, "join is refused");
  expect(infold_error_rank() == 1, "because of rank 1");
  expect(strstr(infold_error_message(), "rank 1 verifies results, rank 0 does not") != NULL,
         "which verifies alone");
  return NULL;
}

static void disagree_about_verifying(void) {
  infold_join_options options[RANKS];
  void* arguments[RANKS];
  char address[ADDRESS_BYTES];
  find_address(address);
  for (int32_t rank = 0; rank < RANKS; ++rank) {
    options[rank] = join_options(rank, address);
    options[rank].verify = rank == 1;
    arguments[rank] = &options[rank];
  }
  run_threads(join_and_be_refused, arguments);
}

static void expect_refused(const infold_join_options* options, infold_code code,
                           const char* message) {
  infold_communicator* none = NULL;
  expect(infold_join(options, &none) == code && none == NULL, message);
  expect(strstr(infold_error_message(), message) != NULL, message);
}

static void refuse_join_options(void) {
  static const char* const nobody[2] = {"127.0.0.1:1", NULL};
  const infold_join_options good = join_options(0, "127.0.0.1:1");
  infold_join_options options = good;
  expect(infold_join(&good, NULL) == INFOLD_ERROR_INVALID_ARGUMENT, "no place");
  options.struct_bytes = 8;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "has another size here");
  options = good;
  options.switch_count = 2;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "switches is a null pointer");
  options.switches = nobody;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "one of the switches is a null");
  options.switch_count = 1;
  options.sites = INFOLD_SITES_SWITCHES;
  options.deadline_ns = 200000000;
  expect_refused(&options, INFOLD_ERROR_DEADLINE_EXCEEDED, "no answer from 127.0.0.1:1");
  options = good;
  options.sites = 4;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "sites is not a Sites");
  options = good;
  options.shared_memory = -1;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "is not a SharedMemory");
  options = good;
  options.wire = 1000;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "wire is not a WireFormat");
  options = good;
  options.rank = RANKS;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT,
                 "the rank is 3, but the number of ranks is 3");
  options = good;
  options.worker_weight = 65;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "a weight is 65");
  options = good;
  options.mtu_bytes = 100;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "mtu_bytes is 100");
  options = good;
  options.deadline_ns = 0;
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "deadline must be more than zero");
}

/* A refused call ends its job, so each case has a job of its own. */
static infold_communicator* alone(void) {
  infold_local_group_options options = infold_local_group_options_default();
  infold_communicator* communicator = NULL;
  expect(infold_local_group_create(&options, &communicator) == INFOLD_OK, "a job of one rank");
  return communicator;
}

static void expect_failed(infold_communicator* communicator, infold_code started,
                          infold_handle* handle, infold_code code, const char* message) {
  expect(started == INFOLD_OK && infold_wait(handle, NULL) == code, message);
  expect(strstr(infold_error_message(), message) != NULL, message);
  infold_handle_destroy(handle);
  infold_communicator_destroy(communicator);
}

static void refuse_calls(void) {
  const infold_code invalid = INFOLD_ERROR_INVALID_ARGUMENT;
  infold_call_options options = infold_call_options_default();
  infold_communicator* own = alone();
  infold_handle* handle = NULL;
  float value = 0;
  void* tensors[1] = {NULL};
  const size_t elements[1] = {1};
  infold_code code = infold_all_reduce_list(own, NULL, elements, 1, 0, NULL, &handle);
  expect(code == invalid && handle == NULL, "no tensors");
  code = infold_all_reduce_list(own, tensors, NULL, 1, 0, NULL, &handle);
  expect(code == invalid && handle == NULL, "no sizes");
  expect(strstr(infold_error_message(), "of their sizes is a null pointer") != NULL, "a reason");
  expect(infold_all_gather(NULL, &value, &value, 1, 0, NULL, &handle) == invalid, "no rank");
  expect(infold_reduce_scatter(own, &value, &value, 1, 0, NULL, NULL) == invalid, "no handle");
  code = infold_all_reduce_list(own, tensors, elements, 1, 0, NULL, &handle);
  expect_failed(own, code, handle, invalid, "tensor 0 of the list has 1 elements and a null");

  own = alone();
  tensors[0] = &value;
  code = infold_all_reduce_list(own, tensors, elements, 1, 8, NULL, &handle);
  expect_failed(own, code, handle, invalid, "type is not a DataType");
  own = alone();
  code = infold_all_gather(own, NULL, &value, 1, INFOLD_TYPE_F32, NULL, &handle);
  expect_failed(own, code, handle, invalid, "a tensor has 1 elements and a null address");
  own = alone();
  code = infold_reduce_scatter(own, &value, &value, SIZE_MAX, INFOLD_TYPE_F64, NULL, &handle);
  expect_failed(own, code, handle, INFOLD_ERROR_OUT_OF_RANGE, "a tensor has more than");
  own = alone();
  options.priority = 3;
  code = infold_all_reduce(own, &value, &value, 1, INFOLD_TYPE_F32, &options, &handle);
  expect_failed(own, code, handle, invalid, "the priority is not a Priority");
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
  expect(strcmp(infold_interface(NULL), "") == 0, "and no interface");
  expect(strcmp(infold_code_name(INFOLD_ERROR_MISMATCH), "mismatch") == 0, "codes have names");
}

int main(void) {
  disagree_about_verifying();
  refuse_null();
  refuse_calls();
  refuse_join_options();
  return exit_status();
}
