// SPDX-License-Identifier: Apache-2.0
//
// What a slot says of a packet's round: core::Adder::stand(). One access to one register. The
// controller's packets read the register, or set it.
#include "headers.p4"
#include TARGET_REGISTERS

control Slot(inout headers_t headers, inout metadata_t metadata) {
  SLOT_REGISTER(slots)

  apply {
    bool contributes = headers.infold.kind != KIND_QUERY && metadata.job.has_ended == 0;
    workers_t worker = contributes ? metadata.sender.bit_ : 0;
    round_t open;
    workers_t seen;
    if (headers.task.isValid()) {
      SLOT_EXCHANGE(slots, metadata.slot, headers.task.writes[0:0] == 1, headers.task.open,
                    headers.task.seen, headers.view.open, headers.view.seen)
      return;
    }
    SLOT_TOUCH(slots, metadata.slot, headers.infold.round, worker, metadata.job.all, open, seen)
    bool is_open = IS_OPEN(open, headers.infold.round);
    bool is_new = is_open && contributes && (seen & worker) == 0;
    metadata.standing.seen = seen;
    metadata.standing.is_open = is_open ? 1w1 : 0;
    metadata.standing.is_new = is_new ? 1w1 : 0;
    metadata.standing.begins = is_new && seen == 0 ? 1w1 : 0;
    metadata.standing.completes = is_new && (seen | worker) == metadata.job.all ? 1w1 : 0;
  }
}
