// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/program.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "core/adder/adder.h"

namespace infold::p4 {
namespace {

constexpr std::uint64_t kWritesSlot = 1;
constexpr std::uint64_t kClearsCopy = 2;
// An Ethernet frame with an unused type. The program reads only the header before it.
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

// The numbers of these fields, if the program has all of them in this order.
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

// The lowest 64 bits of a longer number.
std::uint64_t number_of(const std::string& bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

base::Attempt<Program> Program::of(TargetKind target, const std::string& p4info, std::string text) {
  v1::ForwardingPipelineConfig config;
  if (!config.mutable_p4info()->ParseFromString(p4info)) {
    return base::cannot("its P4Info is not a message in binary form");
  }
  config.set_p4_device_config(std::move(text));
  return of(target, std::move(config));
}

base::Attempt<Program> Program::of(TargetKind target, v1::ForwardingPipelineConfig config) {
  Program program;
  program.target_ = target;
  program.config_ = std::move(config);
  if (const base::Attempt<void> found = program.find_all(); !found) {
    return base::cannot(found.error());
  }
  return program;
}

base::Attempt<void> Program::find_all() {
  const auto& info = config_.p4info();
  const ProgramNames& names = names_of(target_);
  for (const TableNames& table : table_names()) {
    auto found = find(table);
    if (!found) return base::cannot(found.error());
    tables_[static_cast<std::size_t>(table.number)] = std::move(*found);
  }
  for (const RegisterNames& each : names.registers) {
    const auto found = find(each);
    if (!found) return base::cannot(found.error());
    registers_[static_cast<std::size_t>(each.number)] = *found;
  }
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    const auto digest = find_named(info.digests(), names.digests[i]);
    if (digest == info.digests().end()) return lacks("digest", names.digests[i]);
    digests_[i] = digest->preamble().id();
  }
  const auto verdicts = find_named(info.counters(), "Sum.verdicts");
  if (verdicts == info.counters().end()) return lacks("counter", "Sum.verdicts");
  verdicts_ = verdicts->preamble().id();
  return names.fields_out.empty() ? base::Attempt<void>() : find_packets();
}

base::Attempt<void> Program::find_packets() {
  const auto& headers = config_.p4info().controller_packet_metadata();
  const auto out = find_named(headers, "packet_out");
  const auto in = find_named(headers, "packet_in");
  if (out == headers.end() || in == headers.end()) return lacks("header", "packet_out, packet_in");
  const ProgramNames& names = names_of(target_);
  auto fields_out = number_fields(out->metadata(), names.fields_out, "packet_out");
  if (!fields_out) return base::cannot(fields_out.error());
  auto fields_in = number_fields(in->metadata(), names.fields_in, "packet_in");
  if (!fields_in) return base::cannot(fields_in.error());
  fields_out_ = std::move(*fields_out);
  fields_in_ = std::move(*fields_in);
  return {};
}

base::Attempt<Program::TableNumbers> Program::find(const TableNames& names) const {
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

base::Attempt<Program::RegisterNumbers> Program::find(const RegisterNames& names) const {
  const auto& info = config_.p4info();
  const auto found = find_named(info.registers(), names.name);
  if (found == info.registers().end()) return lacks("register", names.name);
  const auto type = info.type_info().structs().find(found->type_spec().struct_().name());
  std::vector<std::string_view> members;
  if (type != info.type_info().structs().end()) {
    for (const auto& member : type->second.members()) members.push_back(member.name());
  }
  if (members != names.members) {
    return lacks("register", fmt::format("{} of [{}]", names.name, fmt::join(names.members, ", ")));
  }
  return RegisterNumbers{found->preamble().id(), members.size()};
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

// Asks the device to send each note at once, in a message of its own.
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

v1::Entity Program::entry_of(Register of, std::uint32_t index) const {
  v1::Entity entity;
  v1::RegisterEntry& entry = *entity.mutable_register_entry();
  entry.set_register_id(id_of(of));
  entry.mutable_index()->set_index(index);
  return entity;
}

v1::Update Program::write_register(Register of, std::uint32_t index, Numbers values) const {
  const std::size_t members = registers_[static_cast<std::size_t>(of)].members;
  CHECK_THAT(values.size(), ==, std::max<std::size_t>(members, 1));
  v1::Update update;
  update.set_type(v1::Update::MODIFY);
  *update.mutable_entity() = entry_of(of, index);
  v1::P4Data& data = *update.mutable_entity()->mutable_register_entry()->mutable_data();
  for (const std::uint64_t value : values) {
    v1::P4Data& number = members == 0 ? data : *data.mutable_struct_()->add_members();
    number.set_bitstring(bytes_of(value));
  }
  return update;
}

std::vector<std::uint64_t> Program::numbers_of(const v1::Entity& answer) const {
  const v1::P4Data& data = answer.register_entry().data();
  if (data.has_struct_()) return members_of(data);
  return {number_of(data.bitstring())};
}

v1::PacketOut Program::packet(std::uint32_t ticket, const RegisterTask& task) const {
  v1::PacketOut packet;
  packet.set_payload(std::string(kFrameBytes, '\0'));
  const std::uint64_t writes =
      (task.writes_slot ? kWritesSlot : 0) | (task.clears_copy ? kClearsCopy : 0);
  const Numbers values = {ticket, task.copy, writes, task.open, task.seen};
  const std::uint64_t* value = values.begin();
  for (const std::uint32_t field : fields_out_) {
    v1::PacketMetadata& metadata = *packet.add_metadata();
    metadata.set_metadata_id(field);
    metadata.set_value(bytes_of(*value++));
  }
  return packet;
}

std::optional<RegisterView> Program::read_packet(const v1::PacketIn& packet) const {
  std::vector<std::uint64_t> values(fields_in_.size());
  std::size_t found = 0;
  for (const v1::PacketMetadata& metadata : packet.metadata()) {
    const auto field = std::find(fields_in_.begin(), fields_in_.end(), metadata.metadata_id());
    if (field == fields_in_.end()) continue;
    values[static_cast<std::size_t>(field - fields_in_.begin())] = number_of(metadata.value());
    ++found;
  }
  if (found != values.size() || values.empty()) return std::nullopt;
  const auto word = [&](std::size_t i) { return static_cast<std::uint32_t>(values[i]); };
  return RegisterView{word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7) != 0};
}

std::vector<StationNote> Program::stations(const v1::DigestList& list) const {
  std::vector<StationNote> notes;
  if (list.digest_id() != id_of(DigestKind::station)) return notes;
  for (const v1::P4Data& data : list.data()) {
    const std::vector<std::uint64_t> numbers = members_of(data);
    if (numbers.size() != 2) continue;
    notes.push_back({numbers[0], static_cast<std::uint32_t>(numbers[1])});
  }
  return notes;
}

std::vector<WorkerNote> Program::workers(const v1::DigestList& list) const {
  std::vector<WorkerNote> notes;
  if (list.digest_id() != id_of(DigestKind::worker)) return notes;
  for (const v1::P4Data& data : list.data()) {
    const std::vector<std::uint64_t> numbers = members_of(data);
    if (numbers.size() != 5 || numbers[1] >= core::kAdderWorkersMax) continue;
    notes.push_back({static_cast<std::uint16_t>(numbers[0]), static_cast<std::uint8_t>(numbers[1]),
                     numbers[2], static_cast<std::uint16_t>(numbers[3]),
                     static_cast<std::uint32_t>(numbers[4])});
  }
  return notes;
}

}  // namespace infold::p4
