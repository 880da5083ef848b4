/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank that makes the all-reduces of a file, for tests that compare the bits of other ranks.
 *
 * Usage: called_rank SWITCH RANK WORLD CALLS RESULTS
 * CALLS has the number of calls in flight at a time, and then each call: its type, wire format (as
 * in infold.h) and number of elements, and its values. All of these but the values are 32-bit
 * integers of this host. RESULTS gets the sums.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <infold/infold.h>

enum { IN_FLIGHT_MAX = 64 };

struct call {
  infold_handle* handle;
  void* tensor;
  size_t bytes;
};

static int fail(const char* what) {
  fprintf(stderr, "called_rank: %s: %s\n", what, infold_error_message());
  return 1;
}

static size_t bytes_of(uint32_t type) {
  switch (type) {
    case INFOLD_TYPE_I8:
    case INFOLD_TYPE_U8: return 1;
    case INFOLD_TYPE_I64: return 8;
    default: return 4;
  }
}

/* Returns 1 if a call has begun, 0 at the end of the file, and -1 after an error. */
static int begin(infold_communicator* communicator, FILE* calls, struct call* call) {
  uint32_t words[3];
  if (fread(words, sizeof words, 1, calls) != 1) return 0;
  call->bytes = words[2] * bytes_of(words[0]);
  call->tensor = malloc(call->bytes + 1);
  if (call->tensor == NULL || fread(call->tensor, 1, call->bytes, calls) != call->bytes) return -1;
  infold_call_options options = infold_call_options_default();
  options.wire = (infold_wire)words[1];
  return infold_all_reduce(communicator, call->tensor, call->tensor, words[2],
                           (infold_type)words[0], &options, &call->handle) == INFOLD_OK
             ? 1
             : -1;
}

static int run(infold_communicator* communicator, FILE* calls, FILE* results) {
  struct call begun[IN_FLIGHT_MAX];
  uint32_t in_flight;
  if (fread(&in_flight, sizeof in_flight, 1, calls) != 1 || in_flight > IN_FLIGHT_MAX) {
    return fail("the file of calls");
  }
  for (int more = 1; more == 1;) {
    uint32_t count = 0;
    while (more == 1 && count < in_flight) {
      more = begin(communicator, calls, &begun[count]);
      if (more == 1) ++count;
    }
    if (more < 0) return fail("a call does not begin");
    for (uint32_t i = 0; i < count; ++i) {
      if (infold_wait(begun[i].handle, NULL) != INFOLD_OK) return fail("a call");
      infold_handle_destroy(begun[i].handle);
      if (fwrite(begun[i].tensor, 1, begun[i].bytes, results) != begun[i].bytes) return 1;
      free(begun[i].tensor);
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const char* switches[] = {argv[1]};
  infold_join_options options = infold_join_options_default();
  options.switches = switches;
  options.switch_count = 1;
  options.rank = (int32_t)strtol(argv[2], NULL, 10);
  options.world = (int32_t)strtol(argv[3], NULL, 10);
  options.deadline_ns = 60 * (int64_t)1000000000;
  infold_communicator* communicator;
  if (infold_join(&options, &communicator) != INFOLD_OK) return fail("joining");
  FILE* const calls = fopen(argv[4], "rb");
  FILE* const results = fopen(argv[5], "wb");
  const int status =
      calls == NULL || results == NULL ? fail("files") : run(communicator, calls, results);
  infold_communicator_destroy(communicator);
  if (calls != NULL) fclose(calls);
  return results == NULL || fclose(results) != 0 ? 1 : status;
}
