// SPDX-License-Identifier: Apache-2.0
//
// The program for Tofino. It has run in an interpreter (tests/p4/interpreter/) but not on a chip.
#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#define RECIRCULATION_PORT 6
#else
#include <tna.p4>
#define RECIRCULATION_PORT 68
#endif

#include "targets/tna/language.p4"
#include "headers.p4"

struct egress_headers_t {
  bridge_t bridge;
  ethernet_t ethernet;
  ipv4_header_t ipv4;
  udp_t udp;
  infold_t infold;
}
struct egress_metadata_t {
  bit<16> rest_of_udp;
}

#include "parse.p4"
#include "sum.p4"
#include "egress.p4"

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
    if (metadata.has_sums == 1) {
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
    udp_sum.subtract_all_and_deposit(metadata.rest_of_udp);  // leaves out the next header as well
    packet.extract(headers.infold);
    transition accept;
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

Pipeline(Parse(), Sum(), Deparse(), EgressParse(), Address(), EgressDeparse()) pipe;
// Metadata is zero at first, which the compiler does not guarantee without this annotation.
@pa_auto_init_metadata
Switch(pipe) main;
