// SPDX-License-Identifier: Apache-2.0
//
// What all targets read in the same way: the headers around infold's header, and the body of
// PENDING.
#ifndef INFOLD_WIRE
#define INFOLD_WIRE

#include "types.p4"

const bit<16> ETHERNET_IPV4 = 0x0800;
const bit<8> IP_UDP = 17;

header ethernet_t {
  mac_t to;
  mac_t from;
  bit<16> type;
}

header ipv4_header_t {
  bit<4> version;
  bit<4> words;
  bit<8> service;
  bit<16> bytes;
  bit<16> id;
  bit<3> flags;
  bit<13> fragment;
  bit<8> hops;
  bit<8> protocol;
  bit<16> checksum;
  ipv4_t from;
  ipv4_t to;
}

header udp_t {
  udp_port_t from;
  udp_port_t to;
  bit<16> bytes;
  bit<16> checksum;
}

// The body of PENDING: the missing ranks as bits (R-065).
header missing_t {
  bit<32> ranks;
}

#endif
