// SPDX-License-Identifier: Apache-2.0
//
// Sets the receiver of each copy of an answer. A copy's replica number is the worker's number.
#include "headers.p4"

control Address(EGRESS_PARAMETERS) {
  action address(mac_t mac, ipv4_t ip, udp_port_t udp_port) {
    headers.ethernet.to = mac;
    headers.ipv4.to = ip;
    headers.udp.to = udp_port;
  }
  action drop() { DROP }
  table workers {
    key = {
      headers.infold.job : exact;
      standard.egress_rid : exact;
    }
    actions = { address; drop; }
    const default_action = drop();
    size = SENDERS_MAX;
  }

  // An answer to the sender alone already has its addresses, because the ingress turned them
  // around.
  apply {
    if (IS_FOR_ALL) {
      workers.apply();
    } else if (VERDICT >= NONE && CAME_FROM == standard.egress_port) {
      drop();  // a flooded packet does not go back
    }
    EGRESS_END
  }
}
