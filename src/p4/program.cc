// SPDX-License-Identifier: Apache-2.0
#include "p4/program.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "core/adder/adder.h"

namespace infold::p4 {
namespace {

// As the program has them.
struct TableNames {
  std::string_view table;
  std::vector<std::string_view> keys;
  std::string_view action;
  std::vector<std::string_view> parameters;
};

const TableNames& names_of(Table table) {
  static const std::array<TableNames, static_cast<std::size_t>(Table::count_)> kNames = {{
      {"Sum.admission.addresses", {"headers.ipv4.to", "headers.udp.to"}, "Sum.admission.take", {}},
      {"Sum.admission.jobs",
       {"headers.infold.job"},
       "Sum.admission.set_job",
       {"index", "epoch", "first_slot", "slots", "elements_max", "all", "multicast", "has_ended"}},
      {"Sum.admission.senders",
       {"metadata.job.index", "headers.infold.worker"},
       "Sum.admission.set_sender",
       {"bit_", "address", "rank_digest", "mac", "udp_port", "port"}},
      {"Address.workers",
       {"metadata.job.index", "standard.egress_rid"},
       "Address.address",
       {"mac", "ip", "udp_port"}},
      {"Sum.forward.stations", {"headers.ethernet.to"}, "Sum.forward.to_port", {"port"}},
      {"Sum.forward.sources",
       {"headers.ethernet.from", "standard.ingress_port"},
       "Sum.forward.is_known",
       {}},
  }};
  return kNames[static_cast<std::size_t>(table)];
}

constexpr std::array<std::string_view, 2> kDigestNames = {"station_note_t", "worker_note_t"};
constexpr std::array<std::string_view, 6> kFieldsOut = {"ticket", "copy", "writes",
                                                        "open",   "seen", "round"};
constexpr std::array<std::string_view, 9> kFieldsIn = {
    "ticket", "copy", "open", "seen", "format", "shape", "first_worker", "round", "state"};
constexpr std::uint64_t kWritesSlot = 1;
constexpr std::uint64_t kWritesRound = 2;
// An Ethernet frame of no type in use. The program looks at the header before it alone.
constexpr std::size_t kFrameBytes = 60;

template <typename List>
auto find_named(const List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& each) { return each.preamble().name() == name; });
}

tl::unexpected<std::string> lacks(std::string_view what, std::string_view name) {
  return base::cannot(fmt::format(
      "it has no {} {}; it is not infold's program, or of another version", what, name));
}

// The numbers of these fields, if the program has them all, in this order.
template <typename Fields, typename Wanted>
base::Attempt<std::vector<std::uint32_t>> number_fields(const Fields& fields, const Wanted& wanted,
                                                        std::string_view of) {
  std::vector<std::uint32_t> ids;
  auto next = fields.begin();
  for (const std::string_view name : wanted) {
    if (next == fields.end() || next->name() != name) {
      return lacks("field", fmt::format("{} of {}", name, of));
    }
    ids.push_back((next++)->id());
  }
  if (next != fields.end()) return lacks("use for the field", next->name());
  return ids;
}

template <typename Numbered>
std::vector<std::uint64_t> members_of(const Numbered& data) {
  std::vector<std::uint64_t> numbers;
  for (const auto& member : data.struct_().members()) {
    numbers.push_back(number_of(member.bitstring()));
  }
  return numbers;
}

}  // namespace

std::string bytes_of(std::uint64_t number) {
  std::string bytes;
  for (; number > 0xFF; number >>= 8) bytes.push_back(static_cast<char>(number & 0xFF));
  bytes.push_back(static_cast<char>(number));
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

// Of a longer one, the lowest 64 bits.
std::uint64_t number_of(const std::string& bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

base::Attempt<Program> Program::of(const std::string& p4info, std::string text) {
  v1::ForwardingPipelineConfig config;
  if (!config.mutable_p4info()->ParseFromString(p4info)) {
    return base::cannot("its P4Info is no message in binary form");
  }
  config.set_p4_device_config(std::move(text));
  return of(std::move(config));
}

base::Attempt<Program> Program::of(v1::ForwardingPipelineConfig config) {
  Program program;
  program.config_ = std::move(config);
  if (const base::Attempt<void> found = program.find_all(); !found) {
    return base::cannot(found.error());
  }
  return program;
}

base::Attempt<void> Program::find_all() {
  const auto& info = config_.p4info();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    auto found = find(static_cast<Table>(i));
    if (!found) return base::cannot(found.error());
    tables_[i] = std::move(*found);
  }
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    const auto digest = find_named(info.digests(), kDigestNames[i]);
    if (digest == info.digests().end()) return lacks("digest", kDigestNames[i]);
    digests_[i] = digest->preamble().id();
  }
  const auto verdicts = find_named(info.counters(), "Sum.verdicts");
  if (verdicts == info.counters().end()) return lacks("counter", "Sum.verdicts");
  verdicts_ = verdicts->preamble().id();
  const auto& headers = info.controller_packet_metadata();
  const auto out = find_named(headers, "packet_out");
  const auto in = find_named(headers, "packet_in");
  if (out == headers.end() || in == headers.end()) return lacks("header", "packet_out, packet_in");
  auto fields_out = number_fields(out->metadata(), kFieldsOut, "packet_out");
  if (!fields_out) return base::cannot(fields_out.error());
  auto fields_in = number_fields(in->metadata(), kFieldsIn, "packet_in");
  if (!fields_in) return base::cannot(fields_in.error());
  fields_out_ = std::move(*fields_out);
  fields_in_ = std::move(*fields_in);
  return {};
}

base::Attempt<Program::TableNumbers> Program::find(Table table) const {
  const TableNames& names = names_of(table);
  const auto& info = config_.p4info();
  const auto found = find_named(info.tables(), names.table);
  if (found == info.tables().end()) return lacks("table", names.table);
  auto keys = number_fields(found->match_fields(), names.keys, names.table);
  if (!keys) return base::cannot(keys.error());
  const auto action = find_named(info.actions(), names.action);
  if (action == info.actions().end()) return lacks("action", names.action);
  auto parameters = number_fields(action->params(), names.parameters, names.action);
  if (!parameters) return base::cannot(parameters.error());
  return TableNumbers{found->preamble().id(), std::move(*keys), action->preamble().id(),
                      std::move(*parameters)};
}

v1::Update Program::update(v1::Update::Type type, Table table, Numbers keys,
                           Numbers parameters) const {
  const TableNumbers& numbers = tables_[static_cast<std::size_t>(table)];
  CHECK_THAT(keys.size(), ==, numbers.keys.size());
  v1::Update update;
  update.set_type(type);
  v1::TableEntry& entry = *update.mutable_entity()->mutable_table_entry();
  entry.set_table_id(numbers.id);
  const std::uint64_t* value = keys.begin();
  for (const std::uint32_t field : numbers.keys) {
    v1::FieldMatch& match = *entry.add_match();
    match.set_field_id(field);
    match.mutable_exact()->set_value(bytes_of(*value++));
  }
  if (type == v1::Update::DELETE) return update;
  CHECK_THAT(parameters.size(), ==, numbers.parameters.size());
  v1::Action& action = *entry.mutable_action()->mutable_action();
  action.set_action_id(numbers.action);
  value = parameters.begin();
  for (const std::uint32_t id : numbers.parameters) {
    v1::Action::Param& parameter = *action.add_params();
    parameter.set_param_id(id);
    parameter.set_value(bytes_of(*value++));
  }
  return update;
}

v1::Update Program::update(v1::Update::Type type, std::uint32_t group,
                           const std::vector<v1::Replica>& replicas) const {
  v1::Update update;
  update.set_type(type);
  v1::MulticastGroupEntry& entry = *update.mutable_entity()
                                        ->mutable_packet_replication_engine_entry()
                                        ->mutable_multicast_group_entry();
  entry.set_multicast_group_id(group);
  entry.mutable_replicas()->Add(replicas.begin(), replicas.end());
  return update;
}

// One note a message, at once.
v1::Update Program::ask_for(DigestKind kind) const {
  constexpr std::int64_t kAgainNs = 100'000'000;
  v1::Update update;
  update.set_type(v1::Update::INSERT);
  v1::DigestEntry& entry = *update.mutable_entity()->mutable_digest_entry();
  entry.set_digest_id(id_of(kind));
  entry.mutable_config()->set_max_list_size(1);
  entry.mutable_config()->set_ack_timeout_ns(kAgainNs);
  return update;
}

v1::Entity Program::all_verdicts() const {
  v1::Entity entity;
  entity.mutable_counter_entry()->set_counter_id(verdicts_);
  return entity;
}

v1::Entity Program::all_groups() {
  v1::Entity entity;
  entity.mutable_packet_replication_engine_entry()->mutable_multicast_group_entry();
  return entity;
}

v1::PacketOut Program::packet(std::uint32_t ticket, const RegisterTask& task) const {
  v1::PacketOut packet;
  packet.set_payload(std::string(kFrameBytes, '\0'));
  const std::uint64_t writes =
      (task.writes_slot ? kWritesSlot : 0) | (task.writes_round ? kWritesRound : 0);
  const Numbers values = {ticket, task.copy, writes, task.open, task.seen, task.round};
  const std::uint64_t* value = values.begin();
  for (const std::uint32_t field : fields_out_) {
    v1::PacketMetadata& metadata = *packet.add_metadata();
    metadata.set_metadata_id(field);
    metadata.set_value(bytes_of(*value++));
  }
  return packet;
}

std::optional<RegisterView> Program::read_packet(const v1::PacketIn& packet) const {
  std::array<std::uint64_t, kFieldsIn.size()> values{};
  std::size_t found = 0;
  for (const v1::PacketMetadata& metadata : packet.metadata()) {
    const auto field = std::find(fields_in_.begin(), fields_in_.end(), metadata.metadata_id());
    if (field == fields_in_.end()) continue;
    values[static_cast<std::size_t>(field - fields_in_.begin())] = number_of(metadata.value());
    ++found;
  }
  if (found != values.size()) return std::nullopt;
  const auto word = [&](std::size_t i) { return static_cast<std::uint32_t>(values[i]); };
  if (values[8] > static_cast<std::uint64_t>(CopyState::spoiled)) return std::nullopt;
  return RegisterView{word(0), word(1), word(2),
                      word(3), word(4), word(5),
                      word(6), word(7), static_cast<CopyState>(values[8])};
}

std::vector<StationNote> Program::stations(const v1::DigestList& list) const {
  std::vector<StationNote> notes;
  if (list.digest_id() != id_of(DigestKind::station)) return notes;
  for (const v1::P4Data& data : list.data()) {
    const std::vector<std::uint64_t> numbers = members_of(data);
    if (numbers.size() != 2 || numbers[1] > kPortMax) continue;
    notes.push_back({numbers[0], static_cast<std::uint32_t>(numbers[1])});
  }
  return notes;
}

std::vector<WorkerNote> Program::workers(const v1::DigestList& list) const {
  std::vector<WorkerNote> notes;
  if (list.digest_id() != id_of(DigestKind::worker)) return notes;
  for (const v1::P4Data& data : list.data()) {
    const std::vector<std::uint64_t> numbers = members_of(data);
    if (numbers.size() != 5 || numbers[4] > kPortMax) continue;
    if (numbers[0] >= kJobsMax || numbers[1] >= core::kAdderWorkersMax) continue;
    notes.push_back({static_cast<std::uint16_t>(numbers[0]), static_cast<std::uint8_t>(numbers[1]),
                     numbers[2], static_cast<std::uint16_t>(numbers[3]),
                     static_cast<std::uint32_t>(numbers[4])});
  }
  return notes;
}

}  // namespace infold::p4
