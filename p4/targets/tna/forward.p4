// SPDX-License-Identifier: Apache-2.0
//
// All other packets, as an ordinary Ethernet switch forwards them. Where a worker's packets come
// from is noted here, too.
control Forward(inout headers_t headers, in ingress_intrinsic_metadata_t standard,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_manager) {
  action is_known() {}
  action learn() { for_deparser.digest_type = TELL_STATION; }
  table sources {
    key = {
      headers.ethernet.from : exact;
      standard.ingress_port : exact;
    }
    actions = { is_known; learn; }
    const default_action = learn();
    size = STATIONS_MAX;
  }
  action to_port(PortId_t port) { for_manager.ucast_egress_port = port; }
  action to_all() { for_manager.mcast_grp_a = FLOOD_GROUP; }
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

control Places(inout headers_t headers, in ingress_intrinsic_metadata_t standard,
               inout ingress_intrinsic_metadata_for_deparser_t for_deparser) {
  action is_known() {}
  action learn() { for_deparser.digest_type = TELL_WORKER; }
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
