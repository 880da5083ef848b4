// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/targets/register_entries.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace infold::p4 {
namespace {

constexpr std::array kSlots = {Register::slots_before, Register::slots_after, Register::slots_open};
// Differs from bytes 16 to 19 of all packets that are summed, so that no packet can ask for the
// results of an earlier job.
constexpr std::uint32_t kNoLayout = ~0U;

}  // namespace

void RegisterEntries::add_slot(std::vector<v1::Update>& updates, std::uint32_t slot,
                               std::uint32_t open, std::uint32_t seen) const {
  for (const Register each : kSlots) {
    updates.push_back(program_.write_register(each, slot, {open, seen}));
  }
}

base::Attempt<void> RegisterEntries::clear(Device& device, SlotRange slots) {
  std::vector<v1::Update> updates;
  for (std::uint32_t slot = slots.first; slot < slots.first + slots.count; ++slot) {
    add_slot(updates, slot, 1, 0);
    for (const std::uint32_t copy : {slot * 2, slot * 2 + 1}) {
      updates.push_back(program_.write_register(Register::signatures, copy, {kNoLayout, ~0U}));
      updates.push_back(program_.write_register(Register::spoiled, copy, {0}));
    }
  }
  return device.write(updates);
}

base::Attempt<std::vector<std::uint32_t>> RegisterEntries::contributors(Device& device,
                                                                        SlotRange slots) {
  std::vector<v1::Entity> wanted;
  for (std::uint32_t slot = slots.first; slot < slots.first + slots.count; ++slot) {
    wanted.push_back(program_.entry_of(Register::slots_before, slot));
  }
  const auto found = read(device, wanted);
  if (!found) return base::cannot(found.error());
  std::vector<std::uint32_t> seen;
  for (const Numbers& slot : *found) seen.push_back(static_cast<std::uint32_t>(slot[1]));
  return seen;
}

base::Attempt<ChunkView> RegisterEntries::look(Device& device, std::uint32_t copy) {
  const auto found = read(device, {program_.entry_of(Register::slots_before, copy / 2),
                                   program_.entry_of(Register::signatures, copy),
                                   program_.entry_of(Register::first_workers, copy),
                                   program_.entry_of(Register::spoiled, copy)});
  if (!found) return base::cannot(found.error());
  const auto number = [&](std::size_t entry, std::size_t member) {
    return static_cast<std::uint32_t>((*found)[entry][member]);
  };
  const std::uint32_t open = number(0, 0);
  return ChunkView{.open = open,
                   .seen = number(0, 1),
                   .round = round_of(copy, open),
                   .is_spoiled = number(3, 0) != 0,
                   .signature = signature_of(number(1, 0), number(1, 1)),
                   .first_worker = number(2, 0)};
}

base::Attempt<void> RegisterEntries::set_slot(Device& device, std::uint32_t slot,
                                              std::uint32_t open, std::uint32_t seen) {
  std::vector<v1::Update> updates;
  add_slot(updates, slot, open, seen);
  return device.write(updates);
}

// A device may answer in any order.
base::Attempt<std::vector<RegisterEntries::Numbers>> RegisterEntries::read(
    Device& device, const std::vector<v1::Entity>& wanted) const {
  const auto answers = device.read(wanted);
  if (!answers) return base::cannot(answers.error());
  std::vector<Numbers> found;
  for (const v1::Entity& question : wanted) {
    const v1::RegisterEntry& asked = question.register_entry();
    const auto answer = std::find_if(answers->begin(), answers->end(), [&](const auto& each) {
      return each.register_entry().register_id() == asked.register_id() &&
             each.register_entry().index().index() == asked.index().index();
    });
    const bool is_there = answer != answers->end();
    if (is_there) found.push_back(program_.numbers_of(*answer));
    const bool is_pair = asked.register_id() != program_.id_of(Register::first_workers) &&
                         asked.register_id() != program_.id_of(Register::spoiled);
    if (!is_there || found.back().size() != (is_pair ? 2 : 1)) {
      return base::cannot(fmt::format("the P4 device at {} does not tell entry {} of a register",
                                      device.address(), asked.index().index()));
    }
  }
  return found;
}

}  // namespace infold::p4
