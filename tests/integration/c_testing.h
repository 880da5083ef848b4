/* SPDX-License-Identifier: Apache-2.0
 *
 * Helps tests of the C functions with checks that are counted, threads for ranks, and a place on
 * loopback where ranks meet. Any thread may make checks.
 */
#pragma once

#include <stdint.h>

#include <infold/infold.h>

enum { RANKS = 3, ADDRESS_BYTES = 32 };

/* Long, because it ends only a test that hangs. */
#define PATIENCE_NS INT64_C(30000000000)

void expect(int condition, const char* what);
/* Checks that a call has started, and that it succeeds. */
void expect_done(infold_code started, infold_handle* handle, const char* what);
/* The return value of main: 1 if any check has failed. */
int exit_status(void);

/* Runs one thread for each rank until all have ended. */
void run_threads(void* (*body)(void*), void* const arguments[RANKS]);

/* Finds a port of loopback that was free a moment ago. */
void find_address(char address[ADDRESS_BYTES]);
/* Returns the options of a rank that meets the others there. Each rank sums a share. */
infold_join_options join_options(int32_t rank, const char* address);
