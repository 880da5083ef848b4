// SPDX-License-Identifier: Apache-2.0
//
// The constructs that differ between targets, for Tofino.
#ifndef INFOLD_LANGUAGE
#define INFOLD_LANGUAGE

// A register, and what a packet does to one of its entries. `stored` is the entry.
#define REGISTER(type_, place_, places_, name_) Register<type_, place_>(places_) name_;
#define TOUCH(name_, register_, type_, place_, result_, ...)     \
  RegisterAction<type_, place_, result_>(register_) name_ = {    \
    void apply(inout type_ stored) { __VA_ARGS__ }               \
  };
#define TOUCH_AND_TELL(name_, register_, type_, place_, result_, told_, ...) \
  RegisterAction<type_, place_, result_>(register_) name_ = {                \
    void apply(inout type_ stored, out result_ told_) { __VA_ARGS__ }        \
  };
#define DO(name_, index_) name_.execute(index_);
#define GET(field_, name_, index_) field_ = name_.execute(index_);
#define GET_PART(field_, part_, result_, name_, index_) field_ = (part_)name_.execute(index_);
#define COMPARE_BOTH(fits_, one_, other_) fits_ = this.predicate(one_, other_);

// A place consists of fields side by side.
#define PLACES(type_, name_) Hash<type_>(HashAlgorithm_t.IDENTITY) name_;
#define PLACE_OF_2(name_, first_, second_) name_.get({ first_, second_ })
#define PLACE_OF_3(name_, first_, second_, third_) name_.get({ first_, second_, third_ })

// A register of this chip has only four operations, so that minima and bitwise or are not
// available.
#define MORE_LAYOUTS
#define MORE_OPERATIONS
#define MORE_COUNTS
#define MORE_LAST_WORKERS
#define MORE_SUMS(pair_, low_, high_)
#define MORE_SUM_ACTIONS(pair_)
#define MORE_SUM_ENTRIES(pair_)

#define SUM_PARAMETERS                                                      \
  in ingress_intrinsic_metadata_t standard,                                 \
  in ingress_intrinsic_metadata_from_parser_t from_parser,                  \
  inout ingress_intrinsic_metadata_for_deparser_t for_deparser,             \
  inout ingress_intrinsic_metadata_for_tm_t for_manager
#define TARGET_PARAMETERS                                                   \
  in ingress_intrinsic_metadata_t standard,                                 \
  inout ingress_intrinsic_metadata_for_deparser_t for_deparser,             \
  inout ingress_intrinsic_metadata_for_tm_t for_manager
#define TARGET_ARGUMENTS standard, for_deparser, for_manager

#define SEND_TO(port_) for_manager.ucast_egress_port = port_;
#define SEND_TO_GROUP(group_) for_manager.mcast_grp_a = group_;
#define PASS_AGAIN                                  \
  for_manager.ucast_egress_port = RECIRCULATION_PORT; \
  for_manager.bypass_egress = 1;
#define DROP for_deparser.drop_ctl = 1;

// The controller gets at most one note about a packet.
const bit<3> TELL_STATION = 1;
const bit<3> TELL_WORKER = 2;
#define TELL(note_) for_deparser.digest_type = note_;
#define TELL_NOTHING invalidate(for_deparser.digest_type);
#define VERDICTS(name_) Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) name_;
#define COUNT(name_, verdict_) name_.count(verdict_);

#define PARSE_PARAMETERS out metadata_t metadata, out ingress_intrinsic_metadata_t standard
// Bits 7 and 8 of a port number the pipe. Each pipe has its own registers, and packets that pass
// again come to those of the first. So the packets of other pipes are forwarded and never summed.
#define START                              \
  state start {                            \
    packet.extract(standard);              \
    packet.advance(PORT_METADATA_SIZE);    \
    metadata.verdict = NONE;               \
    transition select(standard.ingress_port) { \
      RECIRCULATION_PORT: again;           \
      0x080 &&& 0x080: other_pipe;         \
      0x100 &&& 0x100: other_pipe;         \
      default: ethernet;                   \
    }                                      \
  }                                        \
  state other_pipe {                       \
    packet.extract(headers.ethernet);      \
    transition accept;                     \
  }
#define PARSED_SUM(sum_) Checksum() sum_;
#define ADDRESSES_AND_PROTOCOL \
  { headers.ipv4.from, headers.ipv4.to, 8w0, headers.ipv4.protocol }
#define TAKE_AWAY(sum_, fields_) sum_.subtract(fields_);
#define COMPARE_SUM(sum_, header_, is_wrong_) \
  sum_.add(header_);                          \
  is_wrong_ = sum_.verify();
#define PUT_REST(sum_, field_) sum_.subtract_all_and_deposit(field_);

#define EGRESS_PARAMETERS                                      \
  inout egress_headers_t headers,                              \
  inout egress_metadata_t metadata,                            \
  in egress_intrinsic_metadata_t standard,                     \
  in egress_intrinsic_metadata_from_parser_t from_parser,      \
  inout egress_intrinsic_metadata_for_deparser_t for_deparser, \
  inout egress_intrinsic_metadata_for_output_port_t for_port

// Carries data from the ingress to the egress.
header bridge_t {
  bit<8> verdict;
  bit<16> port;
}
#define TARGET_HEADERS bridge_t bridge;
#define TARGET_METADATA
#define TARGET_ACTIONS                                     \
  action cross() {                                         \
    headers.bridge.setValid();                             \
    headers.bridge.verdict = metadata.verdict;             \
    headers.bridge.port = (bit<16>)standard.ingress_port;  \
  }
#define TARGET_BEGIN
#define TARGET_END if (!headers.again.isValid()) cross();
#define IS_FOR_ALL headers.infold.isValid()
#define VERDICT headers.bridge.verdict
#define CAME_FROM headers.bridge.port[8:0]
#define EGRESS_END headers.bridge.setInvalid();

#endif
