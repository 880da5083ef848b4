// SPDX-License-Identifier: Apache-2.0
//
// Handles the controller's packets. A packet reads all registers of a copy at the same moment,
// because BMv2 takes one packet at a time through the ingress.
const bit<8> OF_CONTROLLER = 252;
const bit<64> NO_SIGNATURE = 0xFFFFFFFFFFFFFFFF;  // differs from all packets that are summed

control Task(inout headers_t headers, inout metadata_t metadata,
             inout standard_metadata_t standard) {
  apply {
    bit<32> copy = headers.task.copy;
    bit<32> slot = copy >> 1;
    if (headers.task.writes[0:0] == 1) {
      bit<64> entry = headers.task.open ++ headers.task.seen;
      slots_before.write(slot, entry);
      slots_after.write(slot, entry);
      slots_open.write(slot, entry);
    }
    if (headers.task.writes[1:1] == 1) {
      signatures.write(copy, NO_SIGNATURE);
      spoiled.write(copy, 0);
    }
    bit<64> stands;
    bit<64> signature;
    slots_before.read(stands, slot);
    signatures.read(signature, copy);
    headers.view.setValid();
    headers.view.ticket = headers.task.ticket;
    headers.view.copy = copy;
    headers.view.open = stands[63:32];
    headers.view.seen = stands[31:0];
    headers.view.layout = signature[63:32];
    headers.view.shape = signature[31:0];
    first_workers.read(headers.view.first_worker, copy);
    spoiled.read(headers.view.is_spoiled, copy);
    headers.task.setInvalid();
    standard.egress_spec = CONTROLLER_PORT;
    metadata.verdict = OF_CONTROLLER;
  }
}
