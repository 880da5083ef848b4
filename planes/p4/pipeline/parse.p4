// SPDX-License-Identifier: Apache-2.0
//
// Reads a packet up to the elements behind an infold header. There are element headers of 32, 16,
// 8, 4, 2, 1 and 1 elements: one header for each bit of the number of elements.
#include "headers.p4"

parser Parse(packet_in packet, out headers_t headers, PARSE_PARAMETERS) {
  // Subtracts from zero everything that the UDP checksum covers, except the second occurrence of
  // the length. If the checksum is right, the rest is therefore the length. Data behind the UDP
  // header is subtracted where it is read. On Tofino, the subtraction can only begin in a state
  // that moves past the whole header.
  PARSED_SUM(udp_sum)
  PARSED_SUM(ipv4_sum)
  START
  // An earlier pass has checked these headers. A contribution that is repeated already has elements,
  // which become those of the result. If no contribution had data, the result is a header alone.
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
    transition select(headers.infold.kind) {
      KIND_ADD: read_elements;
      default: make_elements;
    }
  }
  state again_without_elements {
    packet.extract(headers.ethernet);
    packet.extract(headers.ipv4);
    packet.extract(headers.udp);
    packet.extract(headers.infold);
    transition skip_elements;
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
  // infold's packets are not fragments and do not have IP options.
  state ipv4 {
    packet.extract(headers.ipv4);
    COMPARE_SUM(ipv4_sum, headers.ipv4, metadata.ipv4_is_wrong)
    TAKE_AWAY(udp_sum, ADDRESSES_AND_PROTOCOL)
    transition select(headers.ipv4.version, headers.ipv4.words, headers.ipv4.flags,
                      headers.ipv4.fragment, headers.ipv4.protocol) {
      (4, 5, 0, 0, IP_UDP): udp;
      (4, 5, 2, 0, IP_UDP): udp;
      default: accept;
    }
  }
  state udp {
    packet.extract(headers.udp);
    TAKE_AWAY(udp_sum, headers.udp)
    PUT_REST(udp_sum, metadata.rest_of_udp)
    transition select(headers.udp.bytes) {
      0 .. UDP_BYTES + HEADER_BYTES - 1: accept;
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
  SKIP_LANES(skip_elements)
}
