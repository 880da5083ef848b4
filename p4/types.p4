// SPDX-License-Identifier: Apache-2.0
//
// A type for each quantity, and what wire/infold_wire.h and core::Verdict have as numbers.
#ifndef INFOLD_TYPES
#define INFOLD_TYPES

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<16> udp_port_t;
typedef bit<9> port_t;  // of the device
typedef bit<8> worker_t;
typedef bit<32> workers_t;  // a set, a bit for each number
typedef bit<32> round_t;
typedef bit<32> element_t;
typedef bit<16> job_index_t;
typedef bit<32> slot_index_t;
typedef bit<32> copy_index_t;

const bit<8> MAGIC = 0xF1;
const bit<4> VERSION = 1;
const bit<16> HEADER_BYTES = 32;
const bit<16> UDP_BYTES = 8;
const bit<16> MISSING_BYTES = 4;
const bit<32> PAYLOAD_BYTES_MAX = 8192;

const bit<4> KIND_ADD = 1;
const bit<4> KIND_SKIP = 2;
const bit<4> KIND_QUERY = 5;
const bit<4> KIND_ABORT = 6;
const bit<4> KIND_RESULT = 8;
const bit<4> KIND_REALIGN = 9;
const bit<4> KIND_PENDING = 10;
const bit<4> KIND_ABORTED = 11;

const bit<8> FLAG_BITS = 0x10;

const bit<4> FORMAT_I8 = 0;
const bit<4> FORMAT_I16 = 1;
const bit<4> FORMAT_I32 = 2;
const bit<4> FORMAT_I64 = 3;

const bit<4> REDUCTION_MIN = 2;
const bit<4> REDUCTION_MAX = 3;
const bit<4> REDUCTION_OR = 4;

// What became of a copy's chunk. A contribution that differs from the first one spoils it.
const bit<2> NOT_COMPLETE = 0;
const bit<2> COMPLETE = 1;
const bit<2> SPOILED = 2;

// Whether a packet belongs to a slot's open round. The canary looks at the copy alone, as the
// original protocol does. It is built only to show that a replay finds its flaw.
#ifdef INFOLD_CANARY_WITHOUT_ROUND_CHECK
#define IS_OPEN(open_, round_) (open_[0:0] == round_[0:0])
#else
#define IS_OPEN(open_, round_) (open_ == round_)
#endif

// What became of a packet, as core::Verdict numbers it. Each has a counter. The host counts what it
// gets.
enum bit<8> verdict_t {
  contributed = 0,
  completed = 1,
  replayed = 2,
  answered_pending = 3,
  dropped_malformed = 8,
  dropped_stale_epoch = 10,
  dropped_tag = 11,
  dropped_wrong_way = 12,
  dropped_bad_worker = 13,
  dropped_wrong_source = 14,
  dropped_bad_slot = 15,
  dropped_stale_round = 16,
  dropped_early_round = 17,
  dropped_limits = 19,
  of_controller = 252,
  admitted = 253,  // no verdict yet
  none = 254,      // not a packet of a job here
  to_host = 255    // for the controller
}

// What a packet does to a sum.
enum bit<3> operation_t {
  read = 0,
  write = 1,
  add = 2,
  min = 3,
  max = 4,
  bit_or = 5
}

#endif
