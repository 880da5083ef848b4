// SPDX-License-Identifier: Apache-2.0
//
// All state that stays from packet to packet, except the sums. Three registers hold the same state
// of each slot, because a register returns one number for each packet and three are needed.
#ifndef INFOLD_REGISTERS
#define INFOLD_REGISTERS

#include "types.p4"

struct slot_t {
  round_t open;
  workers_t seen;
}
REGISTER(slot_t, slot_place_t, 1 << (JOB_BITS + SLOT_BITS), slots_before)
REGISTER(slot_t, slot_place_t, 1 << (JOB_BITS + SLOT_BITS), slots_after)
REGISTER(slot_t, slot_place_t, 1 << (JOB_BITS + SLOT_BITS), slots_open)

struct signature_t {
  bit<32> layout;
  bit<32> shape;
}
// The answer of a comparison in which both fields match.
const bit<4> BOTH_FIT = 8;
REGISTER(signature_t, copy_place_t, 1 << COPY_BITS, signatures)
REGISTER(worker_t, copy_place_t, 1 << COPY_BITS, first_workers)  // for the controller
REGISTER(flag_t, copy_place_t, 1 << COPY_BITS, spoiled)

// How many have contributed, and their digest.
struct count_t {
  bit<32> contributors;
  bit<32> digest;
}
REGISTER(count_t, copy_place_t, 1 << COPY_BITS, counts)
REGISTER(worker_t, copy_place_t, 1 << COPY_BITS, last_workers)

// A lower and a higher element.
struct pair_t {
  element_t low;
  element_t high;
}

#endif
