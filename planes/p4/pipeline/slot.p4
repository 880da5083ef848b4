// SPDX-License-Identifier: Apache-2.0
//
// Compares a packet's round with its slot: core::Adder::stand().
#include "headers.p4"
#include "registers.p4"

#define TOUCH_SLOT                                  \
  if (IS_OPEN(stored.open, headers.infold.round)) { \
    if (stored.seen == metadata.others) {           \
      stored.open = stored.open + 1;                \
      stored.seen = 0;                              \
    } else {                                        \
      stored.seen = stored.seen | ~metadata.others; \
    }                                               \
  }

control Slot(inout headers_t headers, inout metadata_t metadata) {
  PLACES(slot_place_t, place_before)
  PLACES(slot_place_t, place_after)
  PLACES(slot_place_t, place_open)
  PLACES(copy_place_t, place_copy)

  TOUCH_AND_TELL(touch_before, slots_before, slot_t, slot_place_t, workers_t, before,
                 before = stored.seen;
                 TOUCH_SLOT)
  TOUCH_AND_TELL(touch_after, slots_after, slot_t, slot_place_t, workers_t, after,
                 TOUCH_SLOT
                 after = stored.seen;)
  TOUCH_AND_TELL(touch_open, slots_open, slot_t, slot_place_t, round_t, open,
                 open = stored.open;
                 TOUCH_SLOT)

#define SLOT headers.infold.slot[SLOT_BITS - 1:0]
  action before() { GET(metadata.before, touch_before, PLACE_OF_2(place_before, metadata.job, SLOT)) }
  action after() { GET(metadata.after, touch_after, PLACE_OF_2(place_after, metadata.job, SLOT)) }
  action open() { GET(metadata.open, touch_open, PLACE_OF_2(place_open, metadata.job, SLOT)) }
  action set_copy() {
    metadata.copy = PLACE_OF_3(place_copy, metadata.job, SLOT, headers.infold.round[0:0]);
  }

  apply {
    before();
    after();
    open();
    set_copy();
  }
}
