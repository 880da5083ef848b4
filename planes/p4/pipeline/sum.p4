// SPDX-License-Identifier: Apache-2.0
//
// A packet's path through the ingress. Each stage of Tofino holds four registers of pairs, and each
// register returns one number for a packet. These limits decide the order here, on all targets.
//
//   stage 0     which packets are summed
//   stage 1     the slot
//   stage 2     what the slot says
//   stage 3     the signature
//   stage 4     whether calls differ
//   stage 5     what becomes of the packet
//   stages 3 to 11   the sums, four pairs in each, and who has contributed
#include "headers.p4"
#include "registers.p4"
#include "admission.p4"
#include "slot.p4"
#include "chunk.p4"
#include "generated/sums.p4"
#include "ending.p4"
#include "forward.p4"

control Sum(inout headers_t headers, inout metadata_t metadata, SUM_PARAMETERS) {
  Admission() admission;
  Slot() slot;
  First() first;
  Signature() signature;
  State() state;
  Sums() sums;
  Contributors() contributors;
  Ending() ending;
  Places() places;
  Forward() forward;
  VERDICTS(verdicts)
  TARGET_ACTIONS

  CLEAR_LANES

  action read_low() {
    metadata.verdict = PASSES_AGAIN;
    metadata.operation = operation_on_pair_t.add;  // adding zeros reads the lower ones
    metadata.fits = BOTH_FIT;
    metadata.body_bytes = headers.infold.ELEMENTS << 2;
    headers.infold.contributors = 0;
    headers.infold.digest = 0;
  }
  action read_high() {
    metadata.verdict = PASSES_AGAIN;
    metadata.operation = operation_on_pair_t.read_high;
  }
  action set_length() {
    headers.udp.bytes = metadata.body_bytes + (UDP_BYTES + HEADER_BYTES);
    headers.ipv4.bytes = metadata.body_bytes + (20 + UDP_BYTES + HEADER_BYTES);
  }

  apply {
    metadata.port = standard.ingress_port;
    TARGET_BEGIN
    if (headers.again.isValid()) {
      metadata.copy = headers.again.copy[COPY_BITS - 1:0];
      if (headers.again.step == READ_LOW) {
        read_low();
        clear_lanes();
        set_length();
      } else {
        read_high();
        if (headers.again.count == 0) set_length();  // no contribution had data
      }
    } else if (headers.infold.isValid()) {
      admission.apply(headers, metadata);
      metadata.next = headers.infold.round + 1;
      if (metadata.verdict == ADMITTED && metadata.is_ours == 1 && metadata.is_summed == 1 &&
          metadata.has_right_length == 1) {
        slot.apply(headers, metadata);
        if (headers.infold.kind != KIND_ADD) clear_lanes();
      } else {
        metadata.verdict = TO_HOST;
      }
    }

    if (metadata.verdict == ADMITTED) {
      metadata.missing = metadata.all & ~metadata.before;
      if (metadata.before != metadata.after) {
        metadata.changed = 1;
        if (metadata.before == 0) {
          metadata.begins = 1;
          metadata.operation = operation_on_pair_t.write;
          first.apply(headers, metadata);
        } else if (headers.infold.REDUCTION == REDUCTION_MAX) {
          metadata.operation = operation_on_pair_t.max;
        MORE_OPERATIONS
        } else {
          metadata.operation = operation_on_pair_t.add;
        }
        if (metadata.after == 0) metadata.completes = 1;
      }
      if (metadata.open == headers.infold.round) metadata.is_open = 1;
      if (metadata.open == metadata.next) metadata.was_open_before = 1;
      places.apply(headers, metadata, TARGET_ARGUMENTS);
    }
    // The rest is unconditional, because the sums would otherwise have to wait until the condition
    // is known.
    signature.apply(headers, metadata);
    state.apply(metadata);
    sums.apply(headers, metadata);
    ending.apply(headers, metadata, TARGET_ARGUMENTS);
    contributors.apply(headers, metadata);
    if (metadata.verdict == NONE || metadata.verdict == TO_HOST) {
      forward.apply(headers, metadata, TARGET_ARGUMENTS);
    }
    TARGET_END
    COUNT(verdicts, metadata.verdict)
  }
}
