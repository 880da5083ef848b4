// SPDX-License-Identifier: Apache-2.0
//
// Decides which packets reach the slots. One table holds everything that must match in a sender's
// packets, so that this lookup and the others fit into one stage. All other packets for this switch
// go to the host, which counts the reason.
#include "headers.p4"

control Admission(inout headers_t headers, inout metadata_t metadata) {
  action take() { metadata.is_ours = 1; }
  table addresses {
    key = {
      headers.ipv4.to : exact;
      headers.udp.to : exact;
    }
    actions = { take; NoAction; }
    const default_action = NoAction();
    size = 4;
  }

  // In a maximum, a rank may skip its part only if the part has no elements, because the result
  // would otherwise begin with zeros. A slot's place has only the low bits of its number, so no
  // other bits may be set. A datagram without a checksum is not summed (R-001), and neither is one
  // whose IPv4 header has a wrong checksum.
  action sum() { metadata.is_summed = 1; }
  table layouts {
    key = {
      headers.infold.version : ternary;
      headers.infold.flags : ternary;
      headers.infold.kind : ternary;
      headers.infold.layout : ternary;
      headers.infold.slot : ternary;
      headers.udp.checksum : ternary;
      metadata.ipv4_is_wrong : ternary;
    }
    actions = { sum; NoAction; }
    const default_action = NoAction();
    size = 16;
    const entries = {
      (_, _, _, _, _, 0, _) : NoAction();
      (_, _, _, _, _, _, true) : NoAction();
      (VERSION, 0, KIND_ADD, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _, _) : sum();
      (VERSION, 0, KIND_ADD, 0x0203 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();
      (VERSION, 0, KIND_SKIP, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _, _) : sum();
      (VERSION, 0, KIND_SKIP, 0x0203 &&& 0xFFFF8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();
      (VERSION, 0, KIND_QUERY, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _, _) : sum();
      (VERSION, 0, KIND_QUERY, 0x0203 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();
      MORE_LAYOUTS
    }
  }

  // If the UDP checksum is right, the rest is the datagram's length (R-001).
  action fit() { metadata.has_right_length = 1; }
  table lengths {
    key = {
      headers.infold.kind : exact;
      headers.infold.ELEMENTS : exact;
      headers.udp.bytes : exact;
      metadata.rest_of_udp : exact;
    }
    actions = { fit; NoAction; }
    const default_action = NoAction();
    size = 256;
    const entries = {
      LENGTHS
    }
  }

  // `others` has all bits except the sender's. The sender of the last bit also has all bits beyond
  // it, so that all workers together always have all bits. A query, and a packet of an ended job,
  // adds no bits. A job has at least two workers, because a lone worker's contribution would leave
  // its slot empty before and after.
  action set_sender(job_place_t job, workers_t others, workers_t all, bit<16> multicast,
                    bit<1> has_ended) {
    metadata.job = job;
    metadata.others = others;
    metadata.all = all;
    metadata.multicast = multicast;
    metadata.has_ended = has_ended;
    metadata.verdict = ADMITTED;
  }
  action give_to_host() { metadata.verdict = TO_HOST; }
  table senders {
    key = {
      headers.infold.job : exact;
      headers.infold.epoch : exact;
      headers.infold.worker : exact;
      headers.infold.kind : exact;
      headers.infold.contributors : exact;
      headers.infold.weight : exact;
      headers.infold.digest : exact;
      headers.ipv4.from : exact;
    }
    actions = { set_sender; give_to_host; }
    const default_action = give_to_host();
    size = 1536;
  }

  apply {
    addresses.apply();
    layouts.apply();
    lengths.apply();
    senders.apply();
  }
}
