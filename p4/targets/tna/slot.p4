// SPDX-License-Identifier: Apache-2.0
//
// What a slot says of a packet's round: core::Adder::stand(). A register has one output on this
// chip, and three are needed. So there are three registers that hold the same, and do the same.
struct slot_t {
  round_t open;
  workers_t seen;
}

#define TOUCH_SLOT                                \
  if (IS_OPEN(slot.open, headers.infold.round)) { \
    if (slot.seen == metadata.others) {           \
      slot.open = slot.open + 1;                  \
      slot.seen = 0;                              \
    } else {                                      \
      slot.seen = slot.seen | ~metadata.others;   \
    }                                             \
  }

control Slot(inout headers_t headers, inout metadata_t metadata) {
  Hash<slot_place_t>(HashAlgorithm_t.IDENTITY) place_before;
  Hash<slot_place_t>(HashAlgorithm_t.IDENTITY) place_after;
  Hash<slot_place_t>(HashAlgorithm_t.IDENTITY) place_open;
  Hash<copy_place_t>(HashAlgorithm_t.IDENTITY) place_copy;
  Register<slot_t, slot_place_t>(1 << (JOB_BITS + SLOT_BITS), {1, 0}) slots_before;
  Register<slot_t, slot_place_t>(1 << (JOB_BITS + SLOT_BITS), {1, 0}) slots_after;
  Register<slot_t, slot_place_t>(1 << (JOB_BITS + SLOT_BITS), {1, 0}) slots_open;

  RegisterAction<slot_t, slot_place_t, workers_t>(slots_before) touch_before = {
    void apply(inout slot_t slot, out workers_t before) {
      before = slot.seen;
      TOUCH_SLOT
    }
  };
  RegisterAction<slot_t, slot_place_t, workers_t>(slots_after) touch_after = {
    void apply(inout slot_t slot, out workers_t after) {
      TOUCH_SLOT
      after = slot.seen;
    }
  };
  RegisterAction<slot_t, slot_place_t, round_t>(slots_open) touch_open = {
    void apply(inout slot_t slot, out round_t open) {
      open = slot.open;
      TOUCH_SLOT
    }
  };

#define PLACE { metadata.job, headers.infold.slot[SLOT_BITS - 1:0] }
  action before() { metadata.before = touch_before.execute(place_before.get(PLACE)); }
  action after() { metadata.after = touch_after.execute(place_after.get(PLACE)); }
  action open() { metadata.open = touch_open.execute(place_open.get(PLACE)); }
  action set_copy() {
    metadata.copy = place_copy.get({ metadata.job, headers.infold.slot[SLOT_BITS - 1:0],
                                     headers.infold.round[0:0] });
  }

  apply {
    before();
    after();
    open();
    set_copy();
  }
}
