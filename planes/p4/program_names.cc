// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/program_names.h"

namespace infold::p4 {
namespace {

ProgramNames names_of_bmv2() {
  return {.digests = {"station_note_t", "worker_note_t"},
          .registers = {},
          .fields_out = {"ticket", "copy", "writes", "open", "seen"},
          .fields_in = {"ticket", "copy", "open", "seen", "layout", "shape", "first_worker",
                        "is_spoiled"}};
}

ProgramNames names_of_tofino() {
  const std::vector<std::string_view> slot = {"open", "seen"};
  return {.digests = {"Deparse.stations", "Deparse.workers"},
          .registers = {{Register::slots_before, "slots_before", slot},
                        {Register::slots_after, "slots_after", slot},
                        {Register::slots_open, "slots_open", slot},
                        {Register::signatures, "signatures", {"layout", "shape"}},
                        {Register::first_workers, "first_workers", {}},
                        {Register::spoiled, "spoiled", {}}},
          .fields_out = {},
          .fields_in = {}};
}

}  // namespace

const std::vector<TableNames>& table_names() {
  static const std::vector<TableNames> kNames = {
      {Table::addresses,
       "Sum.admission.addresses",
       {"headers.ipv4.to", "headers.udp.to"},
       "Sum.admission.take",
       {}},
      {Table::senders,
       "Sum.admission.senders",
       {"headers.infold.job", "headers.infold.epoch", "headers.infold.worker",
        "headers.infold.kind", "headers.infold.contributors", "headers.infold.weight",
        "headers.infold.digest", "headers.ipv4.from"},
       "Sum.admission.set_sender",
       {"job", "others", "all", "multicast", "has_ended"}},
      {Table::workers,
       "Address.workers",
       {"headers.infold.job", "standard.egress_rid"},
       "Address.address",
       {"mac", "ip", "udp_port"}},
      {Table::places,
       "Sum.places.places",
       {"headers.infold.job", "headers.infold.worker", "headers.ethernet.from", "headers.udp.from",
        "standard.ingress_port"},
       "Sum.places.is_known",
       {}},
      {Table::stations,
       "Sum.forward.stations",
       {"headers.ethernet.to"},
       "Sum.forward.to_port",
       {"port"}},
      {Table::sources,
       "Sum.forward.sources",
       {"headers.ethernet.from", "standard.ingress_port"},
       "Sum.forward.is_known",
       {}}};
  return kNames;
}

const ProgramNames& names_of(TargetKind target) {
  static const ProgramNames kBmv2 = names_of_bmv2();
  static const ProgramNames kTofino = names_of_tofino();
  return target == TargetKind::bmv2 ? kBmv2 : kTofino;
}

}  // namespace infold::p4
