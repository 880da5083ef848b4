// SPDX-License-Identifier: Apache-2.0
//
// Registers of v1model. Each is read once and written once for a packet, in one step: BMv2 takes
// one packet at a time through the ingress.
#ifndef INFOLD_REGISTERS
#define INFOLD_REGISTERS

// A register starts as 0. A slot's first open round is 1, so its complement of the lowest bit is
// stored.
#define SLOT_REGISTER(array) register<bit<64>>(SLOTS_MAX) array;
#define SLOT_TOUCH(array, index, packet_round, worker, all, open_, seen_) \
  {                                                                        \
    bit<64> entry;                                                         \
    array.read(entry, index);                                              \
    open_ = entry[63:32] ^ 1;                                              \
    seen_ = entry[31:0];                                                   \
    if (IS_OPEN(open_, packet_round)) {                                    \
      if (seen_ == (all ^ worker)) {                                         \
        entry = ((open_ + 1) ^ 1) ++ 32w0;                                 \
      } else {                                                             \
        entry[31:0] = seen_ | worker;                                      \
      }                                                                    \
    }                                                                      \
    array.write(index, entry);                                             \
  }

#define SLOT_EXCHANGE(array, index, writes, open_, seen_, open_after, seen_after) \
  {                                                                                \
    bit<64> entry;                                                                 \
    array.read(entry, index);                                                      \
    if (writes) entry = (open_ ^ 1) ++ seen_;                                      \
    array.write(index, entry);                                                     \
    open_after = entry[63:32] ^ 1;                                                 \
    seen_after = entry[31:0];                                                      \
  }

#define WORD_REGISTER(array) register<bit<32>>(COPIES_MAX) array;
#define WORD_TOUCH(array, index, writes, value, after) \
  {                                                     \
    bit<32> entry;                                      \
    array.read(entry, index);                           \
    if (writes) entry = value;                          \
    array.write(index, entry);                          \
    after = entry;                                      \
  }
#define COUNT_TOUCH(array, index, begins, more, after) \
  {                                                     \
    bit<32> entry;                                      \
    array.read(entry, index);                           \
    if (begins) entry = 0;                              \
    entry = entry + more;                               \
    array.write(index, entry);                          \
    after = entry;                                      \
  }

// The copies of a slot begin with rounds 0 and -1.
#define ROUND_REGISTER(array) register<bit<34>>(COPIES_MAX) array;
#define ROUND_TOUCH(array, index, begins, packet_round, spoils, completes, round_, state_) \
  {                                                                                         \
    bit<34> entry;                                                                          \
    bit<32> first = index[0:0] == 1 ? 32w0xFFFFFFFF : 0;                                    \
    array.read(entry, index);                                                               \
    if (begins) entry = (packet_round ^ first) ++ NOT_COMPLETE;                             \
    if (spoils) entry[1:0] = SPOILED;                                                       \
    if (completes && entry[1:0] == NOT_COMPLETE) entry[1:0] = COMPLETE;                     \
    array.write(index, entry);                                                              \
    round_ = entry[33:2] ^ first;                                                           \
    state_ = entry[1:0];                                                                    \
  }

#define ELEMENT_REGISTER(array) register<bit<32>>(COPIES_MAX) array;
#define ELEMENT_TOUCH(array, index, operation, value, after)                     \
  {                                                                               \
    bit<32> entry;                                                                \
    array.read(entry, index);                                                     \
    if (operation == operation_t.write) {                                         \
      entry = value;                                                              \
    } else if (operation == operation_t.add) {                                    \
      entry = entry + value;                                                      \
    } else if (operation == operation_t.bit_or) {                                 \
      entry = entry | value;                                                      \
    } else if (operation == operation_t.min) {                                    \
      entry = (int<32>)value < (int<32>)entry ? value : entry;                    \
    } else if (operation == operation_t.max) {                                    \
      entry = (int<32>)value > (int<32>)entry ? value : entry;                    \
    }                                                                             \
    array.write(index, entry);                                                    \
    after = entry;                                                                \
  }

#endif
