// SPDX-License-Identifier: Apache-2.0
//
// Which packets reach the slots. One table holds all that a sender's packets must say, so that its
// lookup and the others take one stage. All other packets for this switch go to the host, which
// counts the reason.
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

  // No rank may leave its part of a maximum out, unless the part has no elements: the sum would begin
  // with zeros. A place of a slot has the low bits of its number alone, so no other bits may be set.
  // A datagram without a checksum is not summed (R-001).
  action sum() { metadata.is_summed = 1; }
  table layouts {
    key = {
      headers.infold.version : ternary;
      headers.infold.flags : ternary;
      headers.infold.kind : ternary;
      headers.infold.layout : ternary;
      headers.infold.slot : ternary;
      headers.udp.checksum : ternary;
    }
    actions = { sum; NoAction; }
    const default_action = NoAction();
    size = 16;
    const entries = {
      (_, _, _, _, _, 0) : NoAction();
      (VERSION, 0, KIND_ADD, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _) : sum();
      (VERSION, 0, KIND_ADD, 0x0203 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _) : sum();
      (VERSION, 0, KIND_SKIP, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _) : sum();
      (VERSION, 0, KIND_SKIP, 0x0203 &&& 0xFFFF8FCF, 0 &&& SLOTS_BEYOND, _) : sum();
      (VERSION, 0, KIND_QUERY, 0x0200 &&& 0x8FCE, 0 &&& SLOTS_BEYOND, _) : sum();
      (VERSION, 0, KIND_QUERY, 0x0203 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _) : sum();
      MORE_LAYOUTS
    }
  }

  // A right UDP checksum leaves the datagram's length (R-001).
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

  // `others`: all bits but those of the sender. The sender of the last bit has all bits beyond it,
  // too, so that all workers together are always all bits. Who asks, or whose job has ended, has
  // none. A job has two workers at least: a slot would be empty before and after a lone one's part.
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
