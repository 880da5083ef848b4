// SPDX-License-Identifier: Apache-2.0
//
// Forwards all other packets like an ordinary Ethernet switch, and notes where a worker's packets
// come from.
#include "headers.p4"

control Forward(inout headers_t headers, inout metadata_t metadata, TARGET_PARAMETERS) {
  action is_known() {}
  action learn() { TELL(TELL_STATION) }
  table sources {
    key = {
      headers.ethernet.from : exact;
      standard.ingress_port : exact;
    }
    actions = { is_known; learn; }
    const default_action = learn();
    size = STATIONS_MAX;
  }
  action to_port(port_t port) { SEND_TO(port) }
  action to_all() { SEND_TO_GROUP(FLOOD_GROUP) }
  table stations {
    key = { headers.ethernet.to : exact; }
    actions = { to_port; to_all; }
    const default_action = to_all();
    size = STATIONS_MAX;
  }
  apply {
    sources.apply();
    stations.apply();
  }
}

control Places(inout headers_t headers, inout metadata_t metadata, TARGET_PARAMETERS) {
  action is_known() {}
  action learn() { TELL(TELL_WORKER) }
  table places {
    key = {
      headers.infold.job : exact;
      headers.infold.worker : exact;
      headers.ethernet.from : exact;
      headers.udp.from : exact;
      standard.ingress_port : exact;
    }
    actions = { is_known; learn; }
    const default_action = learn();
    size = SENDERS_MAX;
  }
  apply { places.apply(); }
}
