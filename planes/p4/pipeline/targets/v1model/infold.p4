// SPDX-License-Identifier: Apache-2.0
//
// The program for v1model, which BMv2's simple_switch runs.
#include <core.p4>
#include <v1model.p4>

// The value of BMv2's option --cpu-port.
#define CONTROLLER_PORT 510

#include "types.p4"
#include "targets/v1model/language.p4"
#include "targets/v1model/task_headers.p4"
#include "parse.p4"
#include "registers.p4"
#include "targets/v1model/task.p4"
#include "sum.p4"
#include "egress.p4"

// A party that sums elements verifies checksums (R-001), and a wrong IPv4 header is summed by nobody.
// The sum that includes the checksum is 0, even if a UDP checksum of 0 was sent as 0xFFFF. After
// either error, BMv2 sets `standard.checksum_error`.
control VerifyChecksums(inout headers_t headers, inout metadata_t metadata) {
  apply {
    verify_checksum(
        headers.infold.isValid() && !headers.again.isValid(),
        { headers.ipv4.version, headers.ipv4.words, headers.ipv4.service, headers.ipv4.bytes,
          headers.ipv4.id, headers.ipv4.flags, headers.ipv4.fragment, headers.ipv4.hops,
          headers.ipv4.protocol, headers.ipv4.checksum, headers.ipv4.from, headers.ipv4.to },
        metadata.zero, HashAlgorithm.csum16);
    verify_checksum_with_payload(
        headers.infold.isValid() && !headers.again.isValid(),
        { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes,
          headers.udp.from, headers.udp.to, headers.udp.bytes, headers.udp.checksum,
          headers.infold, ALL_LANES(headers) },
        metadata.zero, HashAlgorithm.csum16);
  }
}

control UpdateIpv4Checksum(inout headers_t headers, inout metadata_t metadata) {
  apply {
    update_checksum(
        metadata.is_answer == 1,
        { headers.ipv4.version, headers.ipv4.words, headers.ipv4.service, headers.ipv4.bytes,
          headers.ipv4.id, headers.ipv4.flags, headers.ipv4.fragment, headers.ipv4.hops,
          headers.ipv4.protocol, headers.ipv4.from, headers.ipv4.to },
        headers.ipv4.checksum, HashAlgorithm.csum16);
  }
}

control Deparse(packet_out packet, in headers_t headers) {
  apply { packet.emit(headers); }
}

V1Switch(Parse(), VerifyChecksums(), Sum(), Address(), UpdateIpv4Checksum(), Deparse()) main;
