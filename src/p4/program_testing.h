// SPDX-License-Identifier: Apache-2.0
//
// For tests: the P4 program as the compiler describes it, with numbers of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/p4/p4runtime.pb.h"

namespace infold::p4 {

namespace v1 = ::p4::v1;

struct Field {
  const char* name;
  int bits;
};
struct TestTable {
  const char* name;
  std::vector<Field> keys;
  const char* action;
  std::vector<Field> parameters;
};

inline const std::vector<TestTable>& test_tables() {
  static const std::vector<TestTable> kTables = {
      {"Sum.admission.addresses",
       {{"headers.ipv4.to", 32}, {"headers.udp.to", 16}},
       "Sum.admission.take",
       {}},
      {"Sum.admission.jobs",
       {{"headers.infold.job", 16}},
       "Sum.admission.set_job",
       {{"index", 16},
        {"epoch", 32},
        {"first_slot", 32},
        {"slots", 16},
        {"elements_max", 16},
        {"all", 32},
        {"multicast", 16},
        {"has_ended", 1}}},
      {"Sum.admission.senders",
       {{"metadata.job.index", 16}, {"headers.infold.worker", 8}},
       "Sum.admission.set_sender",
       {{"bit_", 32},
        {"address", 32},
        {"rank_digest", 32},
        {"mac", 48},
        {"udp_port", 16},
        {"port", 9}}},
      {"Address.workers",
       {{"metadata.job.index", 16}, {"standard.egress_rid", 16}},
       "Address.address",
       {{"mac", 48}, {"ip", 32}, {"udp_port", 16}}},
      {"Sum.forward.stations", {{"headers.ethernet.to", 48}}, "Sum.forward.to_port", {{"port", 9}}},
      {"Sum.forward.sources",
       {{"headers.ethernet.from", 48}, {"standard.ingress_port", 9}},
       "Sum.forward.is_known",
       {}},
  };
  return kTables;
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

inline v1::ForwardingPipelineConfig test_program() {
  v1::ForwardingPipelineConfig config;
  config.set_p4_device_config("a program");
  ::p4::config::v1::P4Info& info = *config.mutable_p4info();
  std::uint32_t id = 100;
  for (const TestTable& table : test_tables()) {
    give_name(*info.mutable_tables(), ++id, table.name);
    std::uint32_t field = 0;
    for (const Field& key : table.keys) {
      auto& match = *info.mutable_tables()->rbegin()->add_match_fields();
      match.set_id(++field);
      match.set_name(key.name);
      match.set_bitwidth(key.bits);
    }
    give_name(*info.mutable_actions(), ++id, table.action);
    field = 0;
    for (const Field& each : table.parameters) {
      auto& parameter = *info.mutable_actions()->rbegin()->add_params();
      parameter.set_id(++field);
      parameter.set_name(each.name);
      parameter.set_bitwidth(each.bits);
    }
  }
  give_name(*info.mutable_counters(), ++id, "Sum.verdicts");
  give_name(*info.mutable_digests(), ++id, "station_note_t");
  give_name(*info.mutable_digests(), ++id, "worker_note_t");
  add_header(info, ++id, "packet_out", {"ticket", "copy", "writes", "open", "seen", "round"});
  add_header(
      info, ++id, "packet_in",
      {"ticket", "copy", "open", "seen", "format", "shape", "first_worker", "round", "state"});
  return config;
}

}  // namespace infold::p4
