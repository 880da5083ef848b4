/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes every call of the C functions as one of RANKS ranks. All ranks make the same calls, each
 * from a thread of its own.
 */
#pragma once

/* Takes an infold_communicator and returns null, the form of a function for threads. */
void* make_every_call(void* communicator);
