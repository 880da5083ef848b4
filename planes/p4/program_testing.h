// SPDX-License-Identifier: Apache-2.0
//
// For tests: the P4 program as the compiler for each target describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planes/p4/program_names.h"
#include "proto/p4/p4runtime.pb.h"

namespace infold::p4 {

namespace v1 = ::p4::v1;

struct Field {
  const char* name;
  int bits;
};
struct TestTable {
  Table number;
  std::uint32_t id;
  const char* name;
  std::vector<Field> keys;
  std::uint32_t action_id;
  const char* action;
  std::vector<Field> parameters;
};
struct TestRegister {
  Register number;
  std::uint32_t id;
  const char* name;
  const char* type;
  std::vector<const char*> members;
};

// The same tables with different numbers: small numbers of our own, or the numbers from p4c's back
// end for Tofino.
inline std::vector<TestTable> make_test_tables(bool has_small_numbers) {
  const auto number = [&](std::uint32_t small, std::uint32_t of_tofino) {
    return has_small_numbers ? small : of_tofino;
  };
  return {{Table::addresses,
           number(101, 49728563),
           "Sum.admission.addresses",
           {{"headers.ipv4.to", 32}, {"headers.udp.to", 16}},
           number(201, 28244153),
           "Sum.admission.take",
           {}},
          {Table::senders,
           number(102, 34656071),
           "Sum.admission.senders",
           {{"headers.infold.job", 16},
            {"headers.infold.epoch", 32},
            {"headers.infold.worker", 8},
            {"headers.infold.kind", 4},
            {"headers.infold.contributors", 16},
            {"headers.infold.weight", 16},
            {"headers.infold.digest", 32},
            {"headers.ipv4.from", 32}},
           number(202, 24335708),
           "Sum.admission.set_sender",
           {{"job", 4}, {"others", 32}, {"all", 32}, {"multicast", 16}, {"has_ended", 1}}},
          {Table::workers,
           number(103, 50167450),
           "Address.workers",
           {{"headers.infold.job", 16}, {"standard.egress_rid", 16}},
           number(203, 19191718),
           "Address.address",
           {{"mac", 48}, {"ip", 32}, {"udp_port", 16}}},
          {Table::places,
           number(104, 39135304),
           "Sum.places.places",
           {{"headers.infold.job", 16},
            {"headers.infold.worker", 8},
            {"headers.ethernet.from", 48},
            {"headers.udp.from", 16},
            {"standard.ingress_port", 9}},
           number(204, 23622568),
           "Sum.places.is_known",
           {}},
          {Table::stations,
           number(105, 47800886),
           "Sum.forward.stations",
           {{"headers.ethernet.to", 48}},
           number(205, 21723015),
           "Sum.forward.to_port",
           {{"port", 9}}},
          {Table::sources,
           number(106, 37630621),
           "Sum.forward.sources",
           {{"headers.ethernet.from", 48}, {"standard.ingress_port", 9}},
           number(206, 19937653),
           "Sum.forward.is_known",
           {}}};
}

inline const std::vector<TestTable>& test_tables(TargetKind target) {
  static const std::vector<TestTable> kBmv2 = make_test_tables(true);
  static const std::vector<TestTable> kTofino = make_test_tables(false);
  return target == TargetKind::bmv2 ? kBmv2 : kTofino;
}

// The registers that P4Runtime's messages reach on Tofino.
inline const std::vector<TestRegister>& test_registers() {
  static const std::vector<TestRegister> kRegisters = {
      {Register::slots_before, 380290419, "slots_before", "slot_t", {"open", "seen"}},
      {Register::slots_after, 376549302, "slots_after", "slot_t", {"open", "seen"}},
      {Register::slots_open, 382399411, "slots_open", "slot_t", {"open", "seen"}},
      {Register::signatures, 381101273, "signatures", "signature_t", {"layout", "shape"}},
      {Register::first_workers, 369332097, "first_workers", "", {}},
      {Register::spoiled, 374577715, "spoiled", "", {}},
  };
  return kRegisters;
}

template <typename List>
void give_name(List& list, std::uint32_t id, const std::string& text) {
  auto& preamble = *list.Add()->mutable_preamble();
  preamble.set_id(id);
  preamble.set_name(text);
}

inline void add_header(::p4::config::v1::P4Info& info, std::uint32_t id, const char* text,
                       const std::vector<const char*>& fields) {
  give_name(*info.mutable_controller_packet_metadata(), id, text);
  auto& header = *info.mutable_controller_packet_metadata()->rbegin();
  for (const char* const field : fields) {
    auto& metadata = *header.add_metadata();
    metadata.set_id(static_cast<std::uint32_t>(header.metadata_size()));
    metadata.set_name(field);
  }
}

inline void add_table(::p4::config::v1::P4Info& info, const TestTable& table) {
  give_name(*info.mutable_tables(), table.id, table.name);
  std::uint32_t field = 0;
  for (const Field& key : table.keys) {
    auto& match = *info.mutable_tables()->rbegin()->add_match_fields();
    match.set_id(++field);
    match.set_name(key.name);
    match.set_bitwidth(key.bits);
  }
  give_name(*info.mutable_actions(), table.action_id, table.action);
  field = 0;
  for (const Field& each : table.parameters) {
    auto& parameter = *info.mutable_actions()->rbegin()->add_params();
    parameter.set_id(++field);
    parameter.set_name(each.name);
    parameter.set_bitwidth(each.bits);
  }
}

inline void add_register(::p4::config::v1::P4Info& info, const TestRegister& each) {
  give_name(*info.mutable_registers(), each.id, each.name);
  if (each.members.empty()) return;
  info.mutable_registers()->rbegin()->mutable_type_spec()->mutable_struct_()->set_name(each.type);
  auto& type = (*info.mutable_type_info()->mutable_structs())[each.type];
  type.clear_members();
  for (const char* const member : each.members) type.add_members()->set_name(member);
}

inline v1::ForwardingPipelineConfig test_program(TargetKind target) {
  v1::ForwardingPipelineConfig config;
  config.set_p4_device_config("a program");
  ::p4::config::v1::P4Info& info = *config.mutable_p4info();
  for (const TestTable& table : test_tables(target)) add_table(info, table);
  if (target == TargetKind::tofino) {
    for (const TestRegister& each : test_registers()) add_register(info, each);
    give_name(*info.mutable_counters(), 304203151, "Sum.verdicts");
    give_name(*info.mutable_digests(), 386054135, "Deparse.stations");
    give_name(*info.mutable_digests(), 395131420, "Deparse.workers");
    return config;
  }
  give_name(*info.mutable_counters(), 301, "Sum.verdicts");
  give_name(*info.mutable_digests(), 302, "station_note_t");
  give_name(*info.mutable_digests(), 303, "worker_note_t");
  add_header(info, 304, "packet_out", {"ticket", "copy", "writes", "open", "seen"});
  add_header(info, 305, "packet_in",
             {"ticket", "copy", "open", "seen", "layout", "shape", "first_worker", "is_spoiled"});
  return config;
}

}  // namespace infold::p4
