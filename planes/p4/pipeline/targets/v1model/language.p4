// SPDX-License-Identifier: Apache-2.0
//
// The constructs that differ between targets, for v1model.
#ifndef INFOLD_LANGUAGE
#define INFOLD_LANGUAGE

// A register, and what a packet does to one of its entries. `stored` is the entry. Registers of
// v1model hold numbers, so each type of entry says how to convert it to a number and back.
#define BITS_slot_t bit<64>
#define LOAD_slot_t stored.open = bits_[63:32]; stored.seen = bits_[31:0];
#define SAVE_slot_t stored.open ++ stored.seen
#define BITS_signature_t bit<64>
#define LOAD_signature_t stored.layout = bits_[63:32]; stored.shape = bits_[31:0];
#define SAVE_signature_t stored.layout ++ stored.shape
#define BITS_count_t bit<64>
#define LOAD_count_t stored.contributors = bits_[63:32]; stored.digest = bits_[31:0];
#define SAVE_count_t stored.contributors ++ stored.digest
#define BITS_pair_t bit<64>
#define LOAD_pair_t stored.low = bits_[63:32]; stored.high = bits_[31:0];
#define SAVE_pair_t stored.low ++ stored.high
#define BITS_worker_t worker_t
#define LOAD_worker_t stored = bits_;
#define SAVE_worker_t stored
#define BITS_flag_t flag_t
#define LOAD_flag_t stored = bits_;
#define SAVE_flag_t stored

#define REGISTER(type_, place_, places_, name_) register<BITS_##type_>(places_) name_;
#define ON_ENTRY(register_, type_, ...)         \
  BITS_##type_ bits_;                           \
  type_ stored;                                 \
  register_.read(bits_, (bit<32>)place);        \
  LOAD_##type_                                  \
  __VA_ARGS__                                   \
  register_.write((bit<32>)place, SAVE_##type_);
#define TOUCH(name_, register_, type_, place_, result_, ...) \
  action name_(in place_ place) { ON_ENTRY(register_, type_, __VA_ARGS__) }
#define TOUCH_AND_TELL(name_, register_, type_, place_, result_, told_, ...) \
  action name_(in place_ place, out result_ told_) { ON_ENTRY(register_, type_, __VA_ARGS__) }
#define DO(name_, index_) name_(index_);
#define GET(field_, name_, index_) name_(index_, field_);
#define GET_PART(field_, part_, result_, name_, index_) \
  result_ whole;                                        \
  name_(index_, whole);                                 \
  field_ = (part_)whole;
#define COMPARE_BOTH(fits_, one_, other_) fits_ = one_ && other_ ? BOTH_FIT : 0;

// A place consists of fields side by side.
#define PLACES(type_, name_)
#define PLACE_OF_2(name_, first_, second_) first_ ++ second_
#define PLACE_OF_3(name_, first_, second_, third_) first_ ++ second_ ++ third_

// Here, a register can have any number of operations. In a minimum, as in a maximum, a rank may
// skip its part only if the part has no elements.
const bit<4> REDUCTION_MIN = 2;
const bit<4> REDUCTION_OR = 4;
#define MORE_LAYOUTS                                                                \
  (VERSION, 0, KIND_ADD, 0x0202 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();      \
  (VERSION, 0, KIND_SKIP, 0x0202 &&& 0xFFFF8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum(); \
  (VERSION, 0, KIND_QUERY, 0x0202 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();    \
  (VERSION, 0, KIND_ADD, 0x0204 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();      \
  (VERSION, 0, KIND_SKIP, 0x0204 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();     \
  (VERSION, 0, KIND_QUERY, 0x0204 &&& 0x8FCF, 0 &&& SLOTS_BEYOND, _, _) : sum();
#define MORE_OPERATIONS                                     \
  } else if (headers.infold.REDUCTION == REDUCTION_MIN) {   \
    metadata.operation = operation_on_pair_t.min;           \
  } else if (headers.infold.REDUCTION == REDUCTION_OR) {    \
    metadata.operation = operation_on_pair_t.bit_or;
#define MORE_COUNTS                                        \
  (operation_on_pair_t.min, BOTH_FIT) : do_add();          \
  (operation_on_pair_t.bit_or, BOTH_FIT) : do_add();
#define MORE_LAST_WORKERS                                  \
  (1, operation_on_pair_t.min) : do_write_last();          \
  (1, operation_on_pair_t.bit_or) : do_write_last();
#define MORE_SUMS(pair_, low_, high_)                                                       \
  TOUCH_AND_TELL(min##pair_, sums##pair_, pair_t, copy_place_t, element_t, low,             \
                 if ((int<32>)low_ < (int<32>)stored.low) stored.low = low_;                \
                 if ((int<32>)high_ < (int<32>)stored.high) stored.high = high_;            \
                 low = stored.low;)                                                         \
  TOUCH_AND_TELL(bit_or##pair_, sums##pair_, pair_t, copy_place_t, element_t, low,          \
                 stored.low = stored.low | low_;                                            \
                 stored.high = stored.high | high_;                                         \
                 low = stored.low;)                                                         \
  action do_min##pair_() { GET(low_, min##pair_, metadata.copy) }                           \
  action do_or##pair_() { GET(low_, bit_or##pair_, metadata.copy) }
#define MORE_SUM_ACTIONS(pair_) do_min##pair_; do_or##pair_;
#define MORE_SUM_ENTRIES(pair_)                            \
  (operation_on_pair_t.min, _) : do_min##pair_();          \
  (operation_on_pair_t.bit_or, _) : do_or##pair_();

#define SUM_PARAMETERS inout standard_metadata_t standard
#define TARGET_PARAMETERS inout standard_metadata_t standard
#define TARGET_ARGUMENTS standard

// A packet that passes again starts from the egress, so it must have a port to get there.
#define SEND_TO(port_) standard.egress_spec = port_;
#define SEND_TO_GROUP(group_) standard.mcast_grp = group_;
#define PASS_AGAIN                  \
  standard.egress_spec = 0;         \
  metadata.passes_again = 1;
#define DROP mark_to_drop(standard);

// The controller gets at most one note about a packet.
const bit<2> TELL_STATION = 1;
const bit<2> TELL_WORKER = 2;
#define TELL(note_) metadata.note = note_;
#define TELL_NOTHING metadata.note = 0;
#define VERDICTS(name_) counter(256, CounterType.packets) name_;
#define COUNT(name_, verdict_) name_.count((bit<32>)verdict_);

#define RECIRCULATED 4
#define PARSE_PARAMETERS inout metadata_t metadata, inout standard_metadata_t standard
#define START                                                             \
  state start {                                                           \
    metadata.verdict = NONE;                                              \
    transition select(standard.ingress_port, standard.instance_type) {    \
      (_, RECIRCULATED): again;                                           \
      (CONTROLLER_PORT, _): task;                                         \
      default: ethernet;                                                  \
    }                                                                     \
  }                                                                       \
  state task {                                                            \
    packet.extract(headers.task);                                         \
    transition accept;                                                    \
  }
// The control VerifyChecksums does this instead.
#define PARSED_SUM(sum_)
#define COMPARE_SUM(sum_, header_, is_wrong_)
#define TAKE_AWAY(sum_, fields_)
#define PUT_REST(sum_, field_)

#define EGRESS_PARAMETERS \
  inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard

#define TARGET_HEADERS   \
  register_task_t task;  \
  register_view_t view;
#define TARGET_METADATA    \
  @field_list(0)           \
  bit<16> zero;            \
  bit<2> note;             \
  bit<1> passes_again;
#define TARGET_ACTIONS Task() task;
// A frame that is shorter than its headers say. Tofino's parser drops such frames without counting
// them.
const bit<8> MALFORMED = 8;
#define TARGET_BEGIN                                                                \
  if (standard.parser_error != error.NoError) {                                     \
    verdicts.count((bit<32>)MALFORMED);                                             \
    mark_to_drop(standard);                                                         \
    exit;                                                                           \
  }                                                                                 \
  if (standard.checksum_error == 0) metadata.rest_of_udp = headers.udp.bytes;       \
  if (headers.task.isValid()) task.apply(headers, metadata, standard);
#define TARGET_END                                                                  \
  if (metadata.note == TELL_STATION) {                                              \
    digest<station_note_t>(1, { headers.ethernet.from, metadata.port });            \
  } else if (metadata.note == TELL_WORKER) {                                        \
    digest<worker_note_t>(2, { headers.infold.job, headers.infold.worker,           \
                               headers.ethernet.from, headers.udp.from, metadata.port }); \
  }
#define IS_FOR_ALL metadata.verdict == COMPLETED
#define VERDICT metadata.verdict
#define CAME_FROM standard.ingress_port
// A checksum of 0 means none. Workers would drop such a packet each time it is repeated (R-001),
// and the deparser's checksum cannot replace it.
#define UDP_SUM(...)                                                                        \
  hash(headers.udp.checksum, HashAlgorithm.csum16, 16w0,                                    \
       { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol, headers.udp.bytes, \
         headers.udp.from, headers.udp.to, headers.udp.bytes, headers.infold, __VA_ARGS__ }, \
       32w0x10000);                                                                         \
  if (headers.udp.checksum == 0) headers.udp.checksum = 0xFFFF;
#define EGRESS_END                                                                          \
  if (metadata.passes_again == 1) recirculate_preserving_field_list(0);                     \
  if (metadata.has_sums == 1) {                                                            \
    UDP_SUM(ALL_LANES(headers))                                                             \
  } else if (metadata.is_pending == 1) {                                                    \
    UDP_SUM(headers.missing)                                                                \
  }

#endif
