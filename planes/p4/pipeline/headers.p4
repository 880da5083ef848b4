// SPDX-License-Identifier: Apache-2.0
//
// The packets, and the data that the pipeline carries from stage to stage. Elements are big-endian,
// because a stage of Tofino cannot reverse the bytes of 64 elements.
#ifndef INFOLD_HEADERS
#define INFOLD_HEADERS

#include "types.p4"
#include "wire.p4"
#include "generated/lanes.p4"

// Bytes 16 to 19 are one field, because a register compares whole fields.
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

// Precedes a packet that passes through the pipeline again.
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

struct headers_t {
  again_t again;
  TARGET_HEADERS
  ethernet_t ethernet;
  ipv4_header_t ipv4;
  udp_t udp;
  infold_t infold;
  missing_t missing;
  LANE_HEADERS
}

struct metadata_t {
  bit<8> verdict;
  bit<1> is_ours;
  bit<1> is_summed;
  bit<1> has_right_length;
  bool ipv4_is_wrong;  // its header's checksum
  bit<1> has_ended;
  bit<1> changed;
  bit<1> begins;
  bit<1> completes;
  bit<1> is_open;
  bit<1> was_open_before;
  bit<1> is_answer;
  bit<1> has_sums;
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
  port_t port;
  bit<16> rest_of_udp;
  bit<8> is_spoiled;
  TARGET_METADATA
}

// What the controller is told about stations and workers.
struct station_note_t {
  mac_t mac;
  port_t port;
}
struct worker_note_t {
  bit<16> job;
  worker_t worker;
  mac_t mac;
  udp_port_t udp_port;
  port_t port;
}

#endif
