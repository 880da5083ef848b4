/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops joining through the C functions: before the join, and from another thread during it.
 */
#include <pthread.h>
#include <stddef.h>

#include <infold/infold.h>

#include "tests/integration/c_testing.h"

static void* join_alone(void* given) {
  static infold_code code;
  infold_join_options options = infold_join_options_default();
  infold_communicator* communicator = NULL;
  options.rendezvous = "127.0.0.1:0"; /* no other rank ever comes there */
  options.rank = 0;
  options.world = 2;
  options.deadline_ns = 600000000000; /* long: the join ends in time only by the stop */
  options.stop = given;
  code = infold_join(&options, &communicator);
  infold_communicator_destroy(communicator);
  return &code;
}

static void stop_from_another_thread(void) {
  infold_stop* stop = NULL;
  pthread_t thread;
  void* code = NULL;
  expect(infold_stop_create(&stop) == INFOLD_OK, "a stop is made");
  if (pthread_create(&thread, NULL, join_alone, stop) != 0) {
    expect(0, "a thread starts");
    return;
  }
  infold_stop_request(stop);
  expect(pthread_join(thread, &code) == 0, "the thread ends");
  expect(*(infold_code*)code == INFOLD_ERROR_CANCELLED, "joining is given up");
  /* The request stays. */
  expect(*(infold_code*)join_alone(stop) == INFOLD_ERROR_CANCELLED, "so is the next one");
  infold_stop_destroy(stop);
}

int main(void) {
  stop_from_another_thread();
  expect(infold_stop_create(NULL) == INFOLD_ERROR_INVALID_ARGUMENT, "no place for a stop");
  infold_stop_request(NULL);
  infold_stop_destroy(NULL);
  return exit_status();
}
