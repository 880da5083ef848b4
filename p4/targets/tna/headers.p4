// SPDX-License-Identifier: Apache-2.0
//
// Packets, and what the pipeline carries from stage to stage. Elements are big-endian here: a stage
// of this chip cannot reverse the bytes of 64 of them.
#ifndef INFOLD_TNA_HEADERS
#define INFOLD_TNA_HEADERS

#include "types.p4"
#include "wire.p4"
#include "generated/tna_lanes.p4"

// Each job has as many slots.
#define JOB_BITS 4
#define SLOT_BITS 8
#define SLOTS_BEYOND 0xFF00
#define COPY_BITS (JOB_BITS + SLOT_BITS + 1)

typedef bit<JOB_BITS> job_place_t;
typedef bit<(JOB_BITS + SLOT_BITS)> slot_place_t;
typedef bit<COPY_BITS> copy_place_t;

// Bytes 16 to 19 are one field, because a register compares fields.
header infold_t {
  bit<8> magic;
  bit<4> version;
  bit<4> kind;
  bit<8> flags;
  worker_t worker;
  bit<16> job;
  bit<16> slot;
  bit<32> epoch;
  round_t round;
  bit<32> layout;
  bit<32> shape;
  bit<16> contributors;
  bit<16> weight;
  bit<32> digest;
}
#define ELEMENTS layout[31:16]
#define FORMAT layout[11:8]
#define REDUCTION layout[3:0]

// In front of a packet that passes the pipeline once more.
const bit<8> READ_LOW = 1;
const bit<8> READ_HIGH_AND_ANSWER = 2;
header again_t {
  bit<8> step;
  bit<8> is_for_all;
  bit<16> copy;
  bit<16> multicast;
  bit<16> port;
  bit<16> count;
}

// From the ingress to the egress.
header bridge_t {
  bit<8> verdict;
  bit<16> port;
}

struct headers_t {
  again_t again;
  bridge_t bridge;
  ethernet_t ethernet;
  ipv4_header_t ipv4;
  udp_t udp;
  infold_t infold;
  missing_t missing;
  LANE_HEADERS
}

struct egress_headers_t {
  bridge_t bridge;
  ethernet_t ethernet;
  ipv4_header_t ipv4;
  udp_t udp;
  infold_t infold;
}

// As types.p4 numbers verdicts.
const bit<8> CONTRIBUTED = 0;
const bit<8> COMPLETED = 1;
const bit<8> REPLAYED = 2;
const bit<8> ANSWERED_PENDING = 3;
const bit<8> STALE_ROUND = 16;
const bit<8> NOT_ANSWERED = 4;  // and all above
const bit<8> PASSES_AGAIN = 251;
const bit<8> ADMITTED = 253;
const bit<8> NONE = 254;
const bit<8> TO_HOST = 255;

// What becomes of a sum. The high half of a pair is read in a pass of its own.
enum bit<3> operation_on_pair_t {
  none = 0,
  write = 1,
  add = 2,
  max = 3,
  read_high = 4
}

struct metadata_t {
  bit<8> verdict;
  bit<1> is_ours;
  bit<1> is_summed;
  bit<1> has_right_length;
  bit<1> has_ended;
  bit<1> changed;
  bit<1> begins;
  bit<1> completes;
  bit<1> is_open;
  bit<1> was_open_before;
  bit<1> is_answer;
  bit<1> is_result;
  bit<1> is_pending;
  job_place_t job;
  workers_t others;
  workers_t all;
  bit<16> multicast;
  operation_on_pair_t operation;
  copy_place_t copy;
  round_t next;
  workers_t before;
  workers_t after;
  workers_t missing;
  bit<16> body_bytes;
  round_t open;
  bit<4> fits;
  PortId_t port;
  bit<16> rest_of_udp;
  bit<8> is_spoiled;
}

struct egress_metadata_t {
  bit<16> rest_of_udp;
}

// What the controller is told.
struct station_note_t {
  mac_t mac;
  PortId_t port;
}
struct worker_note_t {
  bit<16> job;
  worker_t worker;
  mac_t mac;
  udp_port_t udp_port;
  PortId_t port;
}
const bit<3> TELL_STATION = 1;
const bit<3> TELL_WORKER = 2;

#endif
