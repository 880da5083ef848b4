// SPDX-License-Identifier: Apache-2.0
//
// The program for v1model, which BMv2's simple_switch runs.
#include <core.p4>
#include <v1model.p4>

// BMv2 gets it as --cpu-port.
#define CONTROLLER_PORT 510
#define TELL_STATION(mac_, port_) digest<station_note_t>(1, { mac_, port_ });
#define TELL_WORKER(job_, worker_, mac_, udp_port_, port_) \
  digest<worker_note_t>(2, { job_, worker_, mac_, udp_port_, port_ });
// Of an answer, whose bytes are all in headers. The deparser cannot replace a 0, so it is too late
// there.
#define UDP_CHECKSUM(headers, checksum_)                                                     \
  hash(checksum_, HashAlgorithm.csum16, 16w0,                                                \
       { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes, \
         headers.udp.from, headers.udp.to, headers.udp.bytes, headers.infold,                \
         headers.missing, ALL_ELEMENTS(headers) },                                           \
       32w0x10000);
#define TARGET_REGISTERS "targets/v1model/registers.p4"

#include "headers.p4"
#include "parse.p4"
#include "admission.p4"
#include "slot.p4"
#include "chunk.p4"
#include "generated/elements.p4"
#include "verdict.p4"
#include "answer.p4"
#include "forward.p4"
#include "egress.p4"

// A party that sums elements verifies checksums (R-001). The sum with the checksum in it is 0, also
// where a checksum of 0 was sent as 0xFFFF.
control VerifyChecksums(inout headers_t headers, inout metadata_t metadata) {
  apply {
    verify_checksum_with_payload(
        headers.infold.isValid(),
        { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes,
          headers.udp.from, headers.udp.to, headers.udp.bytes, headers.udp.checksum,
          headers.infold, ALL_ELEMENTS(headers) },
        metadata.zero, HashAlgorithm.csum16);
  }
}

control UpdateChecksums(inout headers_t headers, inout metadata_t metadata) {
  apply {
    update_checksum(
        metadata.verdict <= verdict_t.answered_pending,
        { headers.ipv4.version, headers.ipv4.words, headers.ipv4.service, headers.ipv4.bytes,
          headers.ipv4.id, headers.ipv4.flags, headers.ipv4.fragment, headers.ipv4.hops,
          headers.ipv4.protocol, headers.ipv4.from, headers.ipv4.to },
        headers.ipv4.checksum, HashAlgorithm.csum16);
  }
}

control Sum(inout headers_t headers, inout metadata_t metadata,
                inout standard_metadata_t standard) {
  Admission() admission;
  Slot() slot;
  Chunk() chunk;
  Verdict() verdict;
  Elements() sums;
  Answer() answer;
  Forward() forward;
  counter(256, CounterType.packets) verdicts;

  action drop() { mark_to_drop(standard); }

  // Where the sender is now. Answers to all go there.
  action note_sender() {
    TELL_WORKER(metadata.job.index, headers.infold.worker, headers.ethernet.from,
                headers.udp.from, standard.ingress_port)
  }

  action show_registers() {
    headers.view.ticket = headers.task.ticket;
    headers.view.copy = headers.task.copy;
    headers.view.format = metadata.chunk.format;
    headers.view.shape = metadata.chunk.shape;
    headers.view.first_worker = metadata.chunk.first;
    headers.view.round = metadata.chunk.round;
    headers.view.state = (bit<8>)metadata.chunk.state;
    headers.task.setInvalid();
    standard.egress_spec = CONTROLLER_PORT;
  }

  apply {
    admission.apply(headers, metadata);
    if (metadata.verdict == verdict_t.admitted) {
      if (standard.checksum_error == 1) metadata.verdict = verdict_t.dropped_malformed;
    }
    if (metadata.verdict == verdict_t.admitted) {
      if (headers.ethernet.from != metadata.sender.mac ||
          headers.udp.from != metadata.sender.udp_port ||
          standard.ingress_port != metadata.sender.port) {
        note_sender();
      }
    } else if (headers.task.isValid()) {
      headers.view.setValid();
      metadata.slot = headers.task.copy >> 1;
      metadata.copy = headers.task.copy;
    }
    if (metadata.verdict == verdict_t.admitted || headers.task.isValid()) {
      slot.apply(headers, metadata);
      chunk.apply(headers, metadata);
    }
    if (metadata.verdict == verdict_t.admitted) {
      verdict.apply(headers, metadata);
      if (metadata.adds == 1 || metadata.is_answer == 1) sums.apply(headers, metadata);
      answer.apply(headers, metadata);
    }
    verdicts.count((bit<32>)(bit<8>)metadata.verdict);
    if (metadata.verdict == verdict_t.of_controller) {
      show_registers();
    } else if (metadata.verdict == verdict_t.none || metadata.verdict == verdict_t.to_host) {
      forward.apply(headers, standard);
    } else if (metadata.verdict == verdict_t.completed) {
      standard.mcast_grp = metadata.job.multicast;
    } else if (metadata.verdict == verdict_t.replayed ||
               metadata.verdict == verdict_t.answered_pending) {
      standard.egress_spec = standard.ingress_port;
    } else {
      drop();
    }
  }
}

V1Switch(Parse(), VerifyChecksums(), Sum(), Address(), UpdateChecksums(), Deparse()) main;
