/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the C functions: checks that are counted, threads for ranks, and what ranks need to
 * meet over loopback. Checks may be made on any thread.
 */
#pragma once

#include <stdint.h>

#include <infold/infold.h>

enum { RANKS = 3, ADDRESS_BYTES = 32 };

/* Long: it only ends a test that hangs. */
#define PATIENCE_NS INT64_C(30000000000)

void expect(int condition, const char* what);
/* That a call has started, and ends well. */
void expect_done(infold_code started, infold_handle* handle, const char* what);
/* What main returns: 1 if any check has failed. */
int exit_status(void);

/* One thread for each rank, until all have ended. */
void run_threads(void* (*body)(void*), void* const arguments[RANKS]);

/* A port of loopback that was free a moment ago. */
void find_address(char address[ADDRESS_BYTES]);
/* Of a rank that meets the others there; each sums a share. */
infold_join_options join_options(int32_t rank, const char* address);
