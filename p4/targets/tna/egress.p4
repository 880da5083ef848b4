// SPDX-License-Identifier: Apache-2.0
//
// The receiver of each copy of an answer. A copy's replica number is the worker's number.
parser EgressParse(packet_in packet, out egress_headers_t headers, out egress_metadata_t metadata,
                   out egress_intrinsic_metadata_t standard) {
  Checksum() udp_sum;
  state start {
    packet.extract(standard);
    packet.extract(headers.bridge);
    transition select(headers.bridge.verdict) {
      COMPLETED: answer;
      default: accept;
    }
  }
  state answer {
    packet.extract(headers.ethernet);
    packet.extract(headers.ipv4);
    packet.extract(headers.udp);
    udp_sum.subtract({ headers.ipv4.to, headers.udp.to, headers.udp.checksum });
    udp_sum.subtract_all_and_deposit(metadata.rest_of_udp);  // without the next header, too
    packet.extract(headers.infold);
    transition accept;
  }
}

control Address(inout egress_headers_t headers, inout egress_metadata_t metadata,
                in egress_intrinsic_metadata_t standard,
                in egress_intrinsic_metadata_from_parser_t from_parser,
                inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                inout egress_intrinsic_metadata_for_output_port_t for_port) {
  action address(mac_t mac, ipv4_t ip, udp_port_t udp_port) {
    headers.ethernet.to = mac;
    headers.ipv4.to = ip;
    headers.udp.to = udp_port;
  }
  action drop() { for_deparser.drop_ctl = 1; }
  table workers {
    key = {
      headers.infold.job : exact;
      standard.egress_rid : exact;
    }
    actions = { address; drop; }
    const default_action = drop();
    size = SENDERS_MAX;
  }

  apply {
    if (headers.infold.isValid()) {
      workers.apply();
    } else if (headers.bridge.port == (bit<16>)standard.egress_port &&
               headers.bridge.verdict >= NOT_ANSWERED) {
      drop();  // a flooded packet does not go back
    }
    headers.bridge.setInvalid();
  }
}

control EgressDeparse(packet_out packet, inout egress_headers_t headers,
                      in egress_metadata_t metadata,
                      in egress_intrinsic_metadata_for_deparser_t for_deparser) {
  Checksum() ipv4_sum;
  Checksum() udp_sum;
  apply {
    if (headers.infold.isValid()) {
      headers.ipv4.checksum = ipv4_sum.update(
          { headers.ipv4.version, headers.ipv4.words, headers.ipv4.service, headers.ipv4.bytes,
            headers.ipv4.id, headers.ipv4.flags, headers.ipv4.fragment, headers.ipv4.hops,
            headers.ipv4.protocol, headers.ipv4.from, headers.ipv4.to });
      headers.udp.checksum =
          udp_sum.update({ headers.ipv4.to, headers.udp.to, headers.infold, metadata.rest_of_udp },
                         true);
    }
    packet.emit(headers);
  }
}
