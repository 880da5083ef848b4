// SPDX-License-Identifier: Apache-2.0
//
// The receiver of each copy of an answer. A copy's replica number is the worker's number.
#include "headers.p4"

control Address(inout headers_t headers, inout metadata_t metadata,
               inout standard_metadata_t standard) {
  action address(mac_t mac, ipv4_t ip, udp_port_t udp_port) {
    headers.ethernet.to = mac;
    headers.ipv4.to = ip;
    headers.udp.to = udp_port;
  }
  action drop() { mark_to_drop(standard); }
  table workers {
    key = {
      metadata.job.index : exact;
      standard.egress_rid : exact;
    }
    actions = { address; drop; }
    default_action = drop();
    size = SENDERS_MAX;
  }

  // An answer to the sender alone has its addresses in the packet that it was. A checksum of 0 means
  // none, and workers drop such a packet each time that it is repeated (R-001).
  apply {
    if (metadata.verdict == verdict_t.completed) workers.apply();
    if (metadata.verdict <= verdict_t.answered_pending) {
      UDP_CHECKSUM(headers, headers.udp.checksum)
      if (headers.udp.checksum == 0) headers.udp.checksum = 0xFFFF;
    } else if (metadata.verdict == verdict_t.none || metadata.verdict == verdict_t.to_host) {
      // A flooded packet does not go back.
      if (standard.egress_port == standard.ingress_port) drop();
    }
  }
}
