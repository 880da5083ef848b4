// SPDX-License-Identifier: Apache-2.0
//
// All other packets, as an ordinary Ethernet switch forwards them: to the port of an address, or to
// all ports but their own. The controller writes the addresses that it hears of.
#include "headers.p4"

control Forward(in headers_t headers, inout standard_metadata_t standard) {
  // The controller hears of a station that sends from another port than before.
  action is_known() {}
  action learn() { TELL_STATION(headers.ethernet.from, standard.ingress_port) }
  table sources {
    key = {
      headers.ethernet.from : exact;
      standard.ingress_port : exact;
    }
    actions = { is_known; learn; }
    default_action = learn();
    size = STATIONS_MAX;
  }

  action to_port(port_t port) { standard.egress_spec = port; }
  action to_all() { standard.mcast_grp = FLOOD_GROUP; }
  table stations {
    key = { headers.ethernet.to : exact; }
    actions = { to_port; to_all; }
    default_action = to_all();
    size = STATIONS_MAX;
  }

  apply {
    sources.apply();
    stations.apply();
  }
}
