/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of the C functions, as one rank of RANKS makes it; all make the same, each from a
 * thread of its own.
 */
#pragma once

/* Takes an infold_communicator and returns null, as threads want it. */
void* make_every_call(void* communicator);
