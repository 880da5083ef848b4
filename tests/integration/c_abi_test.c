/* SPDX-License-Identifier: Apache-2.0
 *
 * The C functions, used as a C11 program uses them: two ranks driven by turns from one thread, then
 * ranks with a thread each, in one process and joined over loopback.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infold/infold.h>

enum { RANKS = 3, PART = 400, ADDRESS_BYTES = 32 };

/* Long: it only ends a test that hangs. */
static const int64_t patience_ns = 30000000000;

static atomic_int failures = 0;

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

/* All ranks make the same calls, each from its thread. */
static void expect_done(infold_code started, infold_handle* handle, const char* what) {
  expect(started == INFOLD_OK, what);
  if (started != INFOLD_OK) return;
  expect(infold_wait(handle, NULL) == INFOLD_OK, what);
  infold_handle_destroy(handle);
}

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

static void leave_out_zeros(infold_communicator* communicator) {
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
  expect_done(code, handle, "a call without its zeros");
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
  expect(infold_rows_create(NULL) == INFOLD_ERROR_INVALID_ARGUMENT, "so is no place for rows");
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

static void* make_every_call(void* communicator) {
  gather_and_scatter(communicator);
  sum_lists(communicator);
  choose_priorities(communicator);
  leave_out_zeros(communicator);
  sum_rows(communicator);
  root_and_barrier(communicator);
  return NULL;
}

static void run_threads(void* (*body)(void*), void* const arguments[RANKS]) {
  pthread_t threads[RANKS];
  for (int rank = 0; rank < RANKS; ++rank) {
    if (pthread_create(&threads[rank], NULL, body, arguments[rank]) != 0) abort();
  }
  for (int rank = 0; rank < RANKS; ++rank) pthread_join(threads[rank], NULL);
}

static void make_every_call_in_a_group(void) {
  infold_local_group_options options = infold_local_group_options_default();
  infold_communicator* ranks[RANKS] = {NULL};
  void* arguments[RANKS];
  options.world = RANKS;
  options.deadline_ns = patience_ns;
  expect(infold_local_group_create(&options, ranks) == INFOLD_OK, "a group is made");
  for (int rank = 0; rank < RANKS; ++rank) arguments[rank] = ranks[rank];
  run_threads(make_every_call, arguments);
  for (int rank = 0; rank < RANKS; ++rank) {
    expect(strcmp(infold_interface(ranks[rank]), "") == 0, "no packet leaves a group");
    infold_communicator_destroy(ranks[rank]);
  }
}

/* A port that was free a moment ago. */
static void find_address(char address[ADDRESS_BYTES]) {
  struct sockaddr_in place = {.sin_family = AF_INET};
  socklen_t bytes = sizeof(place);
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, (struct sockaddr*)&place, bytes) != 0) abort();
  if (getsockname(descriptor, (struct sockaddr*)&place, &bytes) != 0) abort();
  close(descriptor);
  snprintf(address, ADDRESS_BYTES, "127.0.0.1:%d", ntohs(place.sin_port));
}

static infold_join_options join_options(int32_t rank, const char* address) {
  infold_join_options options = infold_join_options_default();
  options.rendezvous = address;
  options.job = "c";
  options.rank = rank;
  options.world = RANKS;
  options.sites = INFOLD_SITES_WORKERS;
  options.shared_memory = INFOLD_SHARED_MEMORY_OFF;
  options.mtu_bytes = 1500;
  options.deadline_ns = patience_ns;
  return options;
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
  expect_refused(&options, INFOLD_ERROR_DEADLINE_EXCEEDED, "nobody answers at 127.0.0.1:1");
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
  expect_refused(&options, INFOLD_ERROR_INVALID_ARGUMENT, "rank is 3 in a world of 3");
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

/* A refused call ends its job, so that each has a job of its own. */
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
  disagree_about_verifying();
  join_from_environment();
  refuse_null();
  refuse_calls();
  refuse_join_options();
  return failures == 0 ? 0 : 1;
}
