// SPDX-License-Identifier: Apache-2.0
//
// Packets as the wire has them (spec/protocol.md, R-002). Elements are little-endian there, so what
// a field of an element holds is its bytes in reverse.
#ifndef INFOLD_HEADERS
#define INFOLD_HEADERS

#include "types.p4"
#include "wire.p4"
#include "generated/sizes.p4"

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
  bit<16> elements;
  bit<4> dtype;
  bit<4> format;
  bit<4> collective;
  bit<4> reduction;
  bit<32> shape;
  bit<16> contributors;
  bit<16> weight;
  bit<32> digest;
}

header element8_t {
  bit<8> value;
}
header element16_t {
  bit<16> value;
}
header element32_t {
  bit<32> value;
}

// From the controller to the registers of a copy, and what they hold then, back to it. A packet of
// the controller has a frame of zeros behind it.
@controller_header("packet_out")
header register_task_t {
  bit<32> ticket;  // comes back
  copy_index_t copy;
  bit<8> writes;  // bit 0: the slot; bit 1: the round, and the copy is NOT_COMPLETE
  round_t open;
  workers_t seen;
  round_t round;
}

@controller_header("packet_in")
header register_view_t {
  bit<32> ticket;
  copy_index_t copy;
  round_t open;
  workers_t seen;
  bit<32> format;
  bit<32> shape;
  bit<32> first_worker;
  round_t round;
  bit<8> state;
}

// What the controller is told: a station that is not known at this port, and a worker that was
// elsewhere.
struct station_note_t {
  mac_t mac;
  port_t port;
}
struct worker_note_t {
  job_index_t job;
  worker_t worker;
  mac_t mac;
  udp_port_t udp_port;
  port_t port;
}

struct headers_t {
  register_task_t task;
  register_view_t view;
  ethernet_t ethernet;
  ipv4_header_t ipv4;
  udp_t udp;
  infold_t infold;
  missing_t missing;
  // A body has elements of one width.
  element8_t[ELEMENTS_MAX] elements8;
  element16_t[ELEMENTS_MAX] elements16;
  element32_t[ELEMENTS_MAX] elements32;
}

// What tables say of a packet's job and worker.
struct job_t {
  job_index_t index;
  bit<32> epoch;
  slot_index_t first_slot;
  bit<16> slots;
  bit<16> elements_max;
  workers_t all;
  bit<16> multicast;
  bit<1> has_ended;
}

struct sender_t {
  workers_t bit_;
  ipv4_t address;
  bit<32> digest;
  mac_t mac;  // where its packets came from until now
  udp_port_t udp_port;
  port_t port;
}

// Where the packet's chunk stands, as core::Adder::Standing has it.
struct standing_t {
  bit<1> is_open;
  bit<1> is_new;
  bit<1> begins;
  bit<1> completes;
  workers_t seen;
}

// The chunk of the packet's copy, as core::Adder::Chunk has it.
struct chunk_t {
  bit<32> format;  // bytes 16 to 19 of the header
  bit<32> shape;
  bit<32> first;
  bit<1> fits;  // the packet's signature is the chunk's
  bit<1> had_data;
  bit<16> contributors;
  bit<32> digest;
  bit<2> state;
  round_t round;
  worker_t last;
}

struct metadata_t {
  verdict_t verdict;
  bit<16> zero;
  bit<16> body_bytes;
  bit<16> elements_there;  // that were read
  job_t job;
  sender_t sender;
  slot_index_t slot;
  copy_index_t copy;
  standing_t standing;
  chunk_t chunk;
  bit<1> adds;
  bit<1> is_answer;
  ipv4_t host;  // this switch's address
  mac_t host_mac;
  udp_port_t host_port;
}

#endif
