// SPDX-License-Identifier: Apache-2.0
//
// Decides what happens to a packet: core::Adder::pass_through(). A register has one output and
// holds two elements, so a complete result takes further passes. The first pass of the last
// contribution reads the lower elements. A result that is requested again takes an additional pass
// to read them.
#include "headers.p4"
#include "registers.p4"

control Ending(inout headers_t headers, inout metadata_t metadata, TARGET_PARAMETERS) {
  // Sends the packet back to where it came from. The egress writes the addresses of answers to all.
  // An answer keeps the DSCP and the ECN bits of its packet, so networks treat both alike, and a mark
  // of congestion on the way here reaches those who get the answer.
  action turn() {
    mac_t mac = headers.ethernet.to;
    headers.ethernet.to = headers.ethernet.from;
    headers.ethernet.from = mac;
    ipv4_t ip = headers.ipv4.to;
    headers.ipv4.to = headers.ipv4.from;
    headers.ipv4.from = ip;
    udp_port_t udp_port = headers.udp.to;
    headers.udp.to = headers.udp.from;
    headers.udp.from = udp_port;
    headers.ipv4.hops = 64;
    headers.ipv4.id = 0;
    headers.ipv4.flags = 2;
    metadata.is_answer = 1;
  }
  action pass_again(bit<8> step) {
    headers.again.step = step;
    PASS_AGAIN
  }

  action begin(bit<8> step, bit<8> is_for_all) {
    headers.again.setValid();
    headers.again.is_for_all = is_for_all;
    headers.again.copy = (bit<16>)metadata.copy;
    headers.again.multicast = metadata.multicast;
    headers.again.port = (bit<16>)standard.ingress_port;
    pass_again(step);
  }
  action result() {
    turn();
    headers.infold.kind = KIND_RESULT;
    headers.infold.flags = 0;
    headers.infold.contributors = headers.again.count;
    headers.infold.weight = headers.again.count;
    metadata.has_sums = 1;
  }
  // The fields of a header cannot be read after the header is set invalid.
  action result_to_all() {
    result();
    metadata.verdict = COMPLETED;
    SEND_TO_GROUP(headers.again.multicast)
    headers.again.setInvalid();
  }
  action result_to_one() {
    result();
    metadata.verdict = REPLAYED;
    SEND_TO((port_t)headers.again.port)
    headers.again.setInvalid();
  }
  // The elements of a repeated contribution stay behind the datagram, as padding of the frame. No
  // note of the worker's place is sent, because it would contain the exchanged addresses. A worker
  // that misses a result because of its new place asks for it, and that packet causes the note.
  action pending() {
    turn();
    metadata.verdict = ANSWERED_PENDING;
    headers.infold.kind = KIND_PENDING;
    headers.infold.flags = FLAG_BITS;
    headers.infold.contributors = 0;
    headers.infold.weight = 0;
    headers.infold.digest = 0;
    headers.missing.setValid();
    headers.missing.ranks = metadata.missing[7:0] ++ metadata.missing[15:8] ++
                            metadata.missing[23:16] ++ metadata.missing[31:24];
    headers.udp.bytes = UDP_BYTES + HEADER_BYTES + MISSING_BYTES;
    headers.ipv4.bytes = 20 + UDP_BYTES + HEADER_BYTES + MISSING_BYTES;
    SEND_TO(standard.ingress_port)
    metadata.is_pending = 1;
    TELL_NOTHING
  }
  action end(bit<8> verdict) {
    metadata.verdict = verdict;
    DROP
  }
  // The packet's elements may be sums already, so it gets a checksum of what it contains. The host
  // does not accept datagrams without one.
  action give_to_host() {
    metadata.verdict = TO_HOST;
    metadata.has_sums = 1;
  }

  @stage(5)
  table endings {
    key = {
      headers.again.isValid() : exact;
      headers.again.step : ternary;
      headers.again.is_for_all : ternary;
      metadata.verdict : ternary;
      metadata.is_spoiled : ternary;
      metadata.changed : ternary;
      metadata.completes : ternary;
      metadata.is_open : ternary;
      metadata.was_open_before : ternary;
      metadata.fits : ternary;
      metadata.has_ended : ternary;
      headers.infold.kind : ternary;
    }
    actions = {
      pass_again; begin; result_to_all; result_to_one; pending; end; give_to_host; NoAction;
    }
    const default_action = NoAction();
    size = 16;
    const entries = {
      (true, READ_LOW, _, _, _, _, _, _, _, _, _, _) : pass_again(READ_HIGH_AND_ANSWER);
      (true, READ_HIGH_AND_ANSWER, 1, _, _, _, _, _, _, _, _, _) : result_to_all();
      (true, READ_HIGH_AND_ANSWER, 0, _, _, _, _, _, _, _, _, _) : result_to_one();
      (false, _, _, ADMITTED, 1, _, _, 1, _, _, _, _) : give_to_host();
      (false, _, _, ADMITTED, 1, _, _, _, 1, _, _, _) : give_to_host();
      (false, _, _, ADMITTED, 0, 1, 1, _, _, _, _, KIND_ADD) : begin(READ_HIGH_AND_ANSWER, 1);
      (false, _, _, ADMITTED, 0, 1, 1, _, _, _, _, _) : begin(READ_LOW, 1);
      (false, _, _, ADMITTED, 0, 1, 0, _, _, _, _, _) : end(CONTRIBUTED);
      (false, _, _, ADMITTED, 0, 0, _, 1, _, _, 1, _) : give_to_host();
      (false, _, _, ADMITTED, 0, 0, _, 1, _, _, 0, _) : pending();
      (false, _, _, ADMITTED, 0, 0, _, _, 1, BOTH_FIT, _, _) : begin(READ_LOW, 0);
      (false, _, _, ADMITTED, _, _, _, _, _, _, _, _) : end(STALE_ROUND);
    }
  }

  apply { endings.apply(); }
}
