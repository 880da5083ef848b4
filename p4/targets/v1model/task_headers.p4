// SPDX-License-Identifier: Apache-2.0
//
// Packets of the controller to the registers of a copy, and what these hold then, back to it. BMv2
// takes no other messages to registers. A packet of the controller has a frame of zeros behind it.
@controller_header("packet_out")
header register_task_t {
  bit<32> ticket;  // comes back
  bit<32> copy;
  bit<8> writes;  // bit 0: the slot; bit 1: the copy is as that of a new job
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
