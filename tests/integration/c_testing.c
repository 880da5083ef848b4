/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* sockets */
#include "tests/integration/c_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_int failures = 0;

void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "not so: %s (last error: %s)\n", what, infold_error_message());
}

void expect_done(infold_code started, infold_handle* handle, const char* what) {
  expect(started == INFOLD_OK, what);
  if (started != INFOLD_OK) return;
  expect(infold_wait(handle, NULL) == INFOLD_OK, what);
  infold_handle_destroy(handle);
}

int exit_status(void) { return failures == 0 ? 0 : 1; }

void run_threads(void* (*body)(void*), void* const arguments[RANKS]) {
  pthread_t threads[RANKS];
  for (int rank = 0; rank < RANKS; ++rank) {
    if (pthread_create(&threads[rank], NULL, body, arguments[rank]) != 0) abort();
  }
  for (int rank = 0; rank < RANKS; ++rank) pthread_join(threads[rank], NULL);
}

void find_address(char address[ADDRESS_BYTES]) {
  struct sockaddr_in place = {.sin_family = AF_INET};
  socklen_t bytes = sizeof(place);
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, (struct sockaddr*)&place, bytes) != 0) abort();
  if (getsockname(descriptor, (struct sockaddr*)&place, &bytes) != 0) abort();
  close(descriptor);
  snprintf(address, ADDRESS_BYTES, "127.0.0.1:%d", ntohs(place.sin_port));
}

infold_join_options join_options(int32_t rank, const char* address) {
  infold_join_options options = infold_join_options_default();
  options.rendezvous = address;
  options.job = "c";
  options.rank = rank;
  options.world = RANKS;
  options.sites = INFOLD_SITES_WORKERS;
  options.shared_memory = INFOLD_SHARED_MEMORY_OFF;
  options.mtu_bytes = 1500;
  options.deadline_ns = PATIENCE_NS;
  return options;
}
