// SPDX-License-Identifier: Apache-2.0
//
// Packets from the controller to the registers of a copy, and the answers with the registers'
// contents. BMv2 does not accept other messages to registers. A frame of zeros follows the header
// of a controller's packet.
@controller_header("packet_out")
header register_task_t {
  bit<32> ticket;  // returned in the answer
  bit<32> copy;
  bit<8> writes;  // bit 0: write the slot; bit 1: clear the copy for a new job
  round_t open;
  workers_t seen;
}

@controller_header("packet_in")
header register_view_t {
  bit<32> ticket;
  bit<32> copy;
  round_t open;
  workers_t seen;
  bit<32> layout;
  bit<32> shape;
  worker_t first_worker;
  flag_t is_spoiled;
}
