// SPDX-License-Identifier: Apache-2.0
//
// What goes back: RESULT, PENDING, or nothing. The packet becomes its answer.
#include "headers.p4"

control Answer(inout headers_t headers, inout metadata_t metadata) {
  // To where the packet came from. The egress writes the addresses of an answer to all.
  action turn(bit<4> kind, bit<16> body_bytes) {
    headers.infold.kind = kind;
    headers.infold.flags = 0;
    headers.ethernet.to = headers.ethernet.from;
    headers.ipv4.to = headers.ipv4.from;
    headers.udp.to = headers.udp.from;
    headers.ethernet.from = metadata.host_mac;
    headers.ipv4.from = metadata.host;
    headers.udp.from = metadata.host_port;
    headers.udp.bytes = UDP_BYTES + HEADER_BYTES + body_bytes;
    headers.ipv4.bytes = 20 + UDP_BYTES + HEADER_BYTES + body_bytes;
    headers.ipv4.hops = 64;
    headers.ipv4.service = 0;
    headers.ipv4.id = 0;
    headers.ipv4.flags = 2;
    metadata.body_bytes = body_bytes;
  }

  apply {
    if (metadata.is_answer == 1) {
      bit<16> elements = metadata.chunk.format[31:16];
      bit<4> format = metadata.chunk.format[11:8];
      bit<16> body = elements;
      if (format == FORMAT_I16) body = elements << 1;
      if (format == FORMAT_I32) body = elements << 2;
      if (metadata.chunk.contributors == 0) body = 0;
      turn(KIND_RESULT, body);
      headers.infold.worker = metadata.chunk.last;
      headers.infold.elements = elements;
      headers.infold.dtype = metadata.chunk.format[15:12];
      headers.infold.format = format;
      headers.infold.collective = metadata.chunk.format[7:4];
      headers.infold.reduction = metadata.chunk.format[3:0];
      headers.infold.shape = metadata.chunk.shape;
      headers.infold.contributors = metadata.chunk.contributors;
      headers.infold.weight = metadata.chunk.contributors;
      headers.infold.digest = metadata.chunk.digest;
    } else if (metadata.verdict == verdict_t.answered_pending) {
      turn(KIND_PENDING, MISSING_BYTES);
      headers.infold.flags = FLAG_BITS;
      headers.infold.contributors = 0;
      headers.infold.weight = 0;
      headers.infold.digest = 0;
      headers.missing.setValid();
      // Rank r is bit r mod 8 of byte r / 8.
      workers_t ranks = metadata.job.all & ~metadata.standing.seen;
      headers.missing.ranks = ranks[7:0] ++ ranks[15:8] ++ ranks[23:16] ++ ranks[31:24];
    }
  }
}
