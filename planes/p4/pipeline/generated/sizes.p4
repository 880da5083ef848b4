// SPDX-License-Identifier: Apache-2.0
//
// How much there is of everything.
// Written by tools/p4_elements.py.
#ifndef INFOLD_SIZES
#define INFOLD_SIZES

// Jobs, and slots of each.
#define JOB_BITS 4
#define SLOT_BITS 8
#define SLOTS_BEYOND 0xff00
#define COPY_BITS (JOB_BITS + SLOT_BITS + 1)
#define SENDERS_MAX 512
#define STATIONS_MAX 1024
#define FLOOD_GROUP 1

#endif
