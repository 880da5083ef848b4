// SPDX-License-Identifier: Apache-2.0
//
// A type for each quantity, and the numbers from wire/infold_wire.h and core::Verdict.
#ifndef INFOLD_TYPES
#define INFOLD_TYPES

#include "generated/sizes.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<16> udp_port_t;
typedef bit<9> port_t;  // a port of the device
typedef bit<8> worker_t;
typedef bit<32> workers_t;  // a set with one bit for each worker
typedef bit<32> round_t;
typedef bit<8> flag_t;  // in a register
typedef bit<32> element_t;
typedef bit<JOB_BITS> job_place_t;
typedef bit<(JOB_BITS + SLOT_BITS)> slot_place_t;
typedef bit<COPY_BITS> copy_place_t;

const bit<8> MAGIC = 0xF1;
const bit<4> VERSION = 1;
const bit<16> HEADER_BYTES = 32;
const bit<16> UDP_BYTES = 8;
const bit<16> MISSING_BYTES = 4;

const bit<4> KIND_ADD = 1;
const bit<4> KIND_SKIP = 2;
const bit<4> KIND_QUERY = 5;
const bit<4> KIND_RESULT = 8;
const bit<4> KIND_PENDING = 10;

const bit<8> FLAG_BITS = 0x10;

const bit<4> FORMAT_I32 = 2;

const bit<4> REDUCTION_MAX = 3;

// Whether a packet belongs to a slot's open round. The canary checks only the copy, as the original
// protocol does. It is built only to show that a replay finds this flaw.
#ifdef INFOLD_CANARY_WITHOUT_ROUND_CHECK
#define IS_OPEN(open_, round_) (open_[0:0] == round_[0:0])
#else
#define IS_OPEN(open_, round_) (open_ == round_)
#endif

// What happened to a packet, numbered as in core::Verdict. Each verdict has a counter. The host
// counts the packets that it gets.
const bit<8> CONTRIBUTED = 0;
const bit<8> COMPLETED = 1;
const bit<8> REPLAYED = 2;
const bit<8> ANSWERED_PENDING = 3;
const bit<8> STALE_ROUND = 16;
const bit<8> PASSES_AGAIN = 251;
const bit<8> ADMITTED = 253;  // not decided yet
// A packet that does not belong to a job here, and a packet for the controller; both are forwarded.
const bit<8> NONE = 254;
const bit<8> TO_HOST = 255;

// What happens to a pair of sums. The high half is read in a separate pass.
enum bit<3> operation_on_pair_t {
  none = 0,
  write = 1,
  add = 2,
  max = 3,
  read_high = 4,
  min = 5,
  bit_or = 6
}

#endif
