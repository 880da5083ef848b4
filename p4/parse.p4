// SPDX-License-Identifier: Apache-2.0
//
// Reads a packet as far as an infold header and the elements behind it. All other bytes stay as
// they came, so that every packet can be forwarded. Packets of the controller have a header of
// their own.
#include "headers.p4"

parser Parse(packet_in packet, out headers_t headers, inout metadata_t metadata,
             inout standard_metadata_t standard) {
  state start {
    metadata.verdict = verdict_t.none;
    transition select(standard.ingress_port) {
      CONTROLLER_PORT: task;
      default: ethernet;
    }
  }
  state task {
    metadata.verdict = verdict_t.of_controller;
    packet.extract(headers.task);
    transition accept;
  }
  state ethernet {
    packet.extract(headers.ethernet);
    transition select(headers.ethernet.type) {
      ETHERNET_IPV4: ipv4;
      default: accept;
    }
  }
  // Fragments and options are not infold's.
  state ipv4 {
    packet.extract(headers.ipv4);
    transition select(headers.ipv4.version, headers.ipv4.words, headers.ipv4.fragment,
                      headers.ipv4.flags[0:0], headers.ipv4.protocol) {
      (4, 5, 0, 0, IP_UDP): udp;
      default: accept;
    }
  }
  state udp {
    packet.extract(headers.udp);
    transition select(headers.udp.bytes) {
      0 .. (UDP_BYTES + HEADER_BYTES - 1): accept;
      default: magic;
    }
  }
  state magic {
    transition select(packet.lookahead<bit<8>>()) {
      MAGIC: infold;
      default: accept;
    }
  }
  state infold {
    packet.extract(headers.infold);
    metadata.body_bytes = headers.udp.bytes - UDP_BYTES - HEADER_BYTES;
    transition select(headers.infold.kind, headers.infold.flags, headers.infold.format) {
      (KIND_ADD, 0, FORMAT_I8): elements8;
      (KIND_ADD, 0, FORMAT_I16): elements16;
      (KIND_ADD, 0, FORMAT_I32): elements32;
      default: accept;
    }
  }
  // As many as there are registers for. What is longer stays unread, and is dropped (R-006).
  state elements8 {
    transition select(metadata.body_bytes - metadata.elements_there,
                      metadata.elements_there) {
      (0, _): accept;
      (_, ELEMENTS_MAX): accept;
      default: element8;
    }
  }
  state element8 {
    packet.extract(headers.elements8.next);
    metadata.elements_there = metadata.elements_there + 1;
    transition elements8;
  }
  state elements16 {
    transition select(metadata.body_bytes - (metadata.elements_there << 1),
                      metadata.elements_there) {
      (0 .. 1, _): accept;
      (_, ELEMENTS_MAX): accept;
      default: element16;
    }
  }
  state element16 {
    packet.extract(headers.elements16.next);
    metadata.elements_there = metadata.elements_there + 1;
    transition elements16;
  }
  state elements32 {
    transition select(metadata.body_bytes - (metadata.elements_there << 2),
                      metadata.elements_there) {
      (0 .. 3, _): accept;
      (_, ELEMENTS_MAX): accept;
      default: element32;
    }
  }
  state element32 {
    packet.extract(headers.elements32.next);
    metadata.elements_there = metadata.elements_there + 1;
    transition elements32;
  }
}

control Deparse(packet_out packet, in headers_t headers) {
  apply {
    packet.emit(headers.view);
    packet.emit(headers.ethernet);
    packet.emit(headers.ipv4);
    packet.emit(headers.udp);
    packet.emit(headers.infold);
    packet.emit(headers.missing);
    packet.emit(headers.elements8);
    packet.emit(headers.elements16);
    packet.emit(headers.elements32);
  }
}
