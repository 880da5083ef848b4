// SPDX-License-Identifier: Apache-2.0
//
// For tests: the P4 programs as their compilers describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p4/program_names.h"
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

inline TestTable addresses_table(std::uint32_t id, std::uint32_t action_id) {
  return {Table::addresses,
          id,
          "Sum.admission.addresses",
          {{"headers.ipv4.to", 32}, {"headers.udp.to", 16}},
          action_id,
          "Sum.admission.take",
          {}};
}
inline TestTable stations_table(std::uint32_t id, std::uint32_t action_id) {
  return {Table::stations,
          id,
          "Sum.forward.stations",
          {{"headers.ethernet.to", 48}},
          action_id,
          "Sum.forward.to_port",
          {{"port", 9}}};
}
inline TestTable sources_table(std::uint32_t id, std::uint32_t action_id) {
  return {Table::sources,
          id,
          "Sum.forward.sources",
          {{"headers.ethernet.from", 48}, {"standard.ingress_port", 9}},
          action_id,
          "Sum.forward.is_known",
          {}};
}

// With numbers of our own.
inline const std::vector<TestTable>& bmv2_tables() {
  static const std::vector<TestTable> kTables = {
      addresses_table(101, 201),
      {Table::jobs,
       102,
       "Sum.admission.jobs",
       {{"headers.infold.job", 16}},
       202,
       "Sum.admission.set_job",
       {{"index", 16},
        {"epoch", 32},
        {"first_slot", 32},
        {"slots", 16},
        {"elements_max", 16},
        {"all", 32},
        {"multicast", 16},
        {"has_ended", 1}}},
      {Table::senders,
       103,
       "Sum.admission.senders",
       {{"metadata.job.index", 16}, {"headers.infold.worker", 8}},
       203,
       "Sum.admission.set_sender",
       {{"bit_", 32},
        {"address", 32},
        {"rank_digest", 32},
        {"mac", 48},
        {"udp_port", 16},
        {"port", 9}}},
      {Table::workers,
       104,
       "Address.workers",
       {{"metadata.job.index", 16}, {"standard.egress_rid", 16}},
       204,
       "Address.address",
       {{"mac", 48}, {"ip", 32}, {"udp_port", 16}}},
      stations_table(105, 205),
      sources_table(106, 206),
  };
  return kTables;
}

// With the numbers that p4c's back end for Tofino gives.
inline const std::vector<TestTable>& tofino_tables() {
  static const std::vector<TestTable> kTables = {
      addresses_table(49728563, 28244153),
      {Table::senders,
       34656071,
       "Sum.admission.senders",
       {{"headers.infold.job", 16},
        {"headers.infold.epoch", 32},
        {"headers.infold.worker", 8},
        {"headers.infold.kind", 4},
        {"headers.infold.contributors", 16},
        {"headers.infold.weight", 16},
        {"headers.infold.digest", 32},
        {"headers.ipv4.from", 32}},
       24335708,
       "Sum.admission.set_sender",
       {{"job", 4}, {"others", 32}, {"all", 32}, {"multicast", 16}, {"has_ended", 1}}},
      {Table::workers,
       50167450,
       "Address.workers",
       {{"headers.infold.job", 16}, {"standard.egress_rid", 16}},
       19191718,
       "Address.address",
       {{"mac", 48}, {"ip", 32}, {"udp_port", 16}}},
      {Table::places,
       39135304,
       "Sum.places.places",
       {{"headers.infold.job", 16},
        {"headers.infold.worker", 8},
        {"headers.ethernet.from", 48},
        {"headers.udp.from", 16},
        {"standard.ingress_port", 9}},
       23622568,
       "Sum.places.is_known",
       {}},
      stations_table(47800886, 21723015),
      sources_table(37630621, 19937653),
  };
  return kTables;
}

inline const std::vector<TestTable>& test_tables(TargetKind target) {
  return target == TargetKind::bmv2 ? bmv2_tables() : tofino_tables();
}

inline const std::vector<TestRegister>& test_registers(TargetKind target) {
  static const std::vector<TestRegister> kNone;
  static const std::vector<TestRegister> kTofino = {
      {Register::slots_before, 380290419, "Sum.slot.slots_before", "slot_t", {"open", "seen"}},
      {Register::slots_after, 376549302, "Sum.slot.slots_after", "slot_t", {"open", "seen"}},
      {Register::slots_open, 382399411, "Sum.slot.slots_open", "slot_t", {"open", "seen"}},
      {Register::signatures,
       381101273,
       "Sum.signature.signatures",
       "signature_t",
       {"layout", "shape"}},
      {Register::first_workers, 369332097, "Sum.first.first_workers", "", {}},
      {Register::spoiled, 374577715, "Sum.spoiled.spoiled", "", {}},
  };
  return target == TargetKind::bmv2 ? kNone : kTofino;
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
  for (const TestRegister& each : test_registers(target)) add_register(info, each);
  if (target == TargetKind::tofino) {
    give_name(*info.mutable_counters(), 304203151, "Sum.verdicts");
    give_name(*info.mutable_digests(), 386054135, "Deparse.stations");
    give_name(*info.mutable_digests(), 395131420, "Deparse.workers");
    return config;
  }
  give_name(*info.mutable_counters(), 301, "Sum.verdicts");
  give_name(*info.mutable_digests(), 302, "station_note_t");
  give_name(*info.mutable_digests(), 303, "worker_note_t");
  add_header(info, 304, "packet_out", {"ticket", "copy", "writes", "open", "seen", "round"});
  add_header(
      info, 305, "packet_in",
      {"ticket", "copy", "open", "seen", "format", "shape", "first_worker", "round", "state"});
  return config;
}

}  // namespace infold::p4
