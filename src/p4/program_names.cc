// SPDX-License-Identifier: Apache-2.0
#include "p4/program_names.h"

namespace infold::p4 {
namespace {

const TableNames kAddresses = {Table::addresses,
                               "Sum.admission.addresses",
                               {"headers.ipv4.to", "headers.udp.to"},
                               "Sum.admission.take",
                               {}};
const TableNames kStations = {Table::stations,
                              "Sum.forward.stations",
                              {"headers.ethernet.to"},
                              "Sum.forward.to_port",
                              {"port"}};
const TableNames kSources = {Table::sources,
                             "Sum.forward.sources",
                             {"headers.ethernet.from", "standard.ingress_port"},
                             "Sum.forward.is_known",
                             {}};

ProgramNames names_of_bmv2() {
  return {.tables = {kAddresses,
                     {Table::jobs,
                      "Sum.admission.jobs",
                      {"headers.infold.job"},
                      "Sum.admission.set_job",
                      {"index", "epoch", "first_slot", "slots", "elements_max", "all", "multicast",
                       "has_ended"}},
                     {Table::senders,
                      "Sum.admission.senders",
                      {"metadata.job.index", "headers.infold.worker"},
                      "Sum.admission.set_sender",
                      {"bit_", "address", "rank_digest", "mac", "udp_port", "port"}},
                     {Table::workers,
                      "Address.workers",
                      {"metadata.job.index", "standard.egress_rid"},
                      "Address.address",
                      {"mac", "ip", "udp_port"}},
                     kStations,
                     kSources},
          .digests = {"station_note_t", "worker_note_t"},
          .registers = {},
          .fields_out = {"ticket", "copy", "writes", "open", "seen", "round"},
          .fields_in = {"ticket", "copy", "open", "seen", "format", "shape", "first_worker",
                        "round", "state"}};
}

ProgramNames names_of_tofino() {
  const std::vector<std::string_view> slot = {"open", "seen"};
  return {.tables = {kAddresses,
                     {Table::senders,
                      "Sum.admission.senders",
                      {"headers.infold.job", "headers.infold.epoch", "headers.infold.worker",
                       "headers.infold.kind", "headers.infold.contributors",
                       "headers.infold.weight", "headers.infold.digest", "headers.ipv4.from"},
                      "Sum.admission.set_sender",
                      {"job", "others", "all", "multicast", "has_ended"}},
                     {Table::workers,
                      "Address.workers",
                      {"headers.infold.job", "standard.egress_rid"},
                      "Address.address",
                      {"mac", "ip", "udp_port"}},
                     {Table::places,
                      "Sum.places.places",
                      {"headers.infold.job", "headers.infold.worker", "headers.ethernet.from",
                       "headers.udp.from", "standard.ingress_port"},
                      "Sum.places.is_known",
                      {}},
                     kStations,
                     kSources},
          .digests = {"Deparse.stations", "Deparse.workers"},
          .registers = {{Register::slots_before, "Sum.slot.slots_before", slot},
                        {Register::slots_after, "Sum.slot.slots_after", slot},
                        {Register::slots_open, "Sum.slot.slots_open", slot},
                        {Register::signatures, "Sum.signature.signatures", {"layout", "shape"}},
                        {Register::first_workers, "Sum.first.first_workers", {}},
                        {Register::spoiled, "Sum.spoiled.spoiled", {}}},
          .fields_out = {},
          .fields_in = {}};
}

}  // namespace

const ProgramNames& names_of(TargetKind target) {
  static const ProgramNames kBmv2 = names_of_bmv2();
  static const ProgramNames kTofino = names_of_tofino();
  return target == TargetKind::bmv2 ? kBmv2 : kTofino;
}

}  // namespace infold::p4
