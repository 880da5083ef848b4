// SPDX-License-Identifier: Apache-2.0
//
// Reads a packet as far as the elements behind an infold header. Elements lie in headers of 32, 16,
// 8, 4, 2, 1 and 1 of them: a header for each bit of their number.
parser Parse(packet_in packet, out headers_t headers, out metadata_t metadata,
             out ingress_intrinsic_metadata_t standard) {
  // What is left of zero without all that the UDP checksum is over, but for its second length. So
  // this is the length if the checksum is right. Elements are taken away where they are read.
  Checksum() udp_sum;
  state start {
    packet.extract(standard);
    packet.advance(PORT_METADATA_SIZE);
    metadata.verdict = NONE;
    transition select(standard.ingress_port) {
      RECIRCULATION_PORT: again;
      default: ethernet;
    }
  }
  // The program has read these before.
  state again {
    packet.extract(headers.again);
    transition select(headers.again.step, headers.again.count) {
      (READ_LOW, _): again_to_make_elements;
      (_, 0): again_without_elements;
      default: again_with_elements;
    }
  }
  state again_to_make_elements {
    packet.extract(headers.ethernet);
    packet.extract(headers.ipv4);
    packet.extract(headers.udp);
    packet.extract(headers.infold);
    transition make_elements;
  }
  state again_without_elements {
    packet.extract(headers.ethernet);
    packet.extract(headers.ipv4);
    packet.extract(headers.udp);
    packet.extract(headers.infold);
    transition accept;
  }
  state again_with_elements {
    packet.extract(headers.ethernet);
    packet.extract(headers.ipv4);
    packet.extract(headers.udp);
    packet.extract(headers.infold);
    transition read_elements;
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
    udp_sum.subtract({ headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol });
    transition select(headers.ipv4.version, headers.ipv4.words, headers.ipv4.flags,
                      headers.ipv4.fragment, headers.ipv4.protocol) {
      (4, 5, 0, 0, IP_UDP): udp;
      (4, 5, 2, 0, IP_UDP): udp;
      default: accept;
    }
  }
  state udp {
    packet.extract(headers.udp);
    udp_sum.subtract(headers.udp);
    transition select(headers.udp.bytes, packet.lookahead<bit<8>>()) {
      (0 .. UDP_BYTES + HEADER_BYTES - 1, _): accept;
      (_, MAGIC): infold;
      default: accept;
    }
  }
  state infold {
    packet.extract(headers.infold);
    udp_sum.subtract(headers.infold);
    udp_sum.subtract_all_and_deposit(metadata.rest_of_udp);
    transition select(headers.infold.kind, headers.infold.flags) {
      (KIND_ADD, 0): format;
      default: accept;
    }
  }
  state format {
    transition select(headers.infold.FORMAT) {
      FORMAT_I32: read_elements;
      default: accept;
    }
  }
  READ_LANES(read_elements)
  MAKE_LANES(make_elements)
}

control Deparse(packet_out packet, inout headers_t headers, in metadata_t metadata,
                in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
  Digest<station_note_t>() stations;
  Digest<worker_note_t>() workers;
  Checksum() ipv4_sum;
  Checksum() result_sum;
  Checksum() pending_sum;

  apply {
    if (for_deparser.digest_type == TELL_STATION) {
      stations.pack({ headers.ethernet.from, metadata.port });
    }
    if (for_deparser.digest_type == TELL_WORKER) {
      workers.pack({ headers.infold.job, headers.infold.worker, headers.ethernet.from,
                     headers.udp.from, metadata.port });
    }
    if (metadata.is_answer == 1) {
      headers.ipv4.checksum = ipv4_sum.update(
          { headers.ipv4.version, headers.ipv4.words, headers.ipv4.service, headers.ipv4.bytes,
            headers.ipv4.id, headers.ipv4.flags, headers.ipv4.fragment, headers.ipv4.hops,
            headers.ipv4.protocol, headers.ipv4.from, headers.ipv4.to });
    }
    if (metadata.is_result == 1) {
      headers.udp.checksum = result_sum.update(
          { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes,
            headers.udp.from, headers.udp.to, headers.udp.bytes, headers.infold,
            ALL_LANES(headers) },
          true);
    }
    if (metadata.is_pending == 1) {
      headers.udp.checksum = pending_sum.update(
          { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes,
            headers.udp.from, headers.udp.to, headers.udp.bytes, headers.infold,
            headers.missing },
          true);
    }
    packet.emit(headers);
  }
}
