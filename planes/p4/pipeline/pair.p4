// SPDX-License-Identifier: Apache-2.0
//
// What a packet does to a pair of sums. Every operation except one returns the lower sum.
#ifndef INFOLD_PAIR
#define INFOLD_PAIR

#define SUM(pair_, low_, high_, high_header_, stage_)                                       \
  TOUCH_AND_TELL(write##pair_, sums##pair_, pair_t, copy_place_t, element_t, low,           \
                 stored.low = low_;                                                         \
                 stored.high = high_;                                                       \
                 low = stored.low;)                                                         \
  TOUCH_AND_TELL(add##pair_, sums##pair_, pair_t, copy_place_t, element_t, low,             \
                 stored.low = stored.low + low_;                                            \
                 stored.high = stored.high + high_;                                         \
                 low = stored.low;)                                                         \
  TOUCH_AND_TELL(max##pair_, sums##pair_, pair_t, copy_place_t, element_t, low,             \
                 if ((int<32>)low_ > (int<32>)stored.low) stored.low = low_;                \
                 if ((int<32>)high_ > (int<32>)stored.high) stored.high = high_;            \
                 low = stored.low;)                                                         \
  TOUCH_AND_TELL(read_high##pair_, sums##pair_, pair_t, copy_place_t, element_t, high,      \
                 high = stored.high;)                                                       \
  MORE_SUMS(pair_, low_, high_)                                                             \
  action do_write##pair_() { GET(low_, write##pair_, metadata.copy) }                       \
  action do_add##pair_() { GET(low_, add##pair_, metadata.copy) }                           \
  action do_max##pair_() { GET(low_, max##pair_, metadata.copy) }                           \
  action do_read_high##pair_() { GET(high_, read_high##pair_, metadata.copy) }              \
  @stage(stage_)                                                                            \
  table sum##pair_ {                                                                        \
    key = {                                                                                 \
      metadata.operation : exact;                                                           \
      high_header_.isValid() : ternary;                                                     \
    }                                                                                       \
    actions = {                                                                             \
      do_write##pair_; do_add##pair_; do_max##pair_; do_read_high##pair_; NoAction;         \
      MORE_SUM_ACTIONS(pair_)                                                               \
    }                                                                                       \
    const default_action = NoAction();                                                      \
    size = 8;                                                                               \
    const entries = {                                                                       \
      (operation_on_pair_t.write, _) : do_write##pair_();                                   \
      (operation_on_pair_t.add, _) : do_add##pair_();                                       \
      (operation_on_pair_t.max, _) : do_max##pair_();                                       \
      (operation_on_pair_t.read_high, true) : do_read_high##pair_();                        \
      MORE_SUM_ENTRIES(pair_)                                                               \
    }                                                                                       \
  }

#endif
