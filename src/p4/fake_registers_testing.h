// SPDX-License-Identifier: Apache-2.0
//
// For tests: the registers of a device. A packet through the pipeline reaches them, or P4Runtime's
// messages do, as the program has it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/check.h"
#include "p4/program.h"
#include "p4/program_testing.h"

namespace infold::p4 {

inline v1::Error error_of(grpc::StatusCode code, const char* message) {
  v1::Error error;
  error.set_canonical_code(code);
  error.set_message(message);
  return error;
}

struct FakeCopy {
  std::uint32_t format = 0;
  std::uint32_t shape = 0;
  std::uint32_t first_worker = 0;
  std::uint32_t round = 0;  // on Tofino a copy has none
  CopyState state = CopyState::not_complete;
};
struct FakeSlot {
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  std::array<FakeCopy, 2> copies;
};

class FakeRegisters {
 public:
  FakeSlot slot(TargetKind target, std::uint32_t number) const {
    if (target == TargetKind::bmv2) {
      const auto found = slots_.find(number);
      return found == slots_.end() ? FakeSlot{} : found->second;
    }
    const Numbers open = entry(Register::slots_before, number);
    CHECK(open == entry(Register::slots_after, number));
    CHECK(open == entry(Register::slots_open, number));
    FakeSlot slot = {word(open[0]), word(open[1]), {}};
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Numbers signature = entry(Register::signatures, number * 2 + i);
      slot.copies[i] = {.format = word(signature[0]),
                        .shape = word(signature[1]),
                        .first_worker = word(entry(Register::first_workers, number * 2 + i)[0])};
      if (entry(Register::spoiled, number * 2 + i)[0] != 0) {
        slot.copies[i].state = CopyState::spoiled;
      }
    }
    return slot;
  }

  void set_slot(TargetKind target, std::uint32_t number, const FakeSlot& slot) {
    if (target == TargetKind::bmv2) {
      slots_[number] = slot;
      return;
    }
    for (const Register each :
         {Register::slots_before, Register::slots_after, Register::slots_open}) {
      entries_[{each, number}] = {slot.open, slot.seen};
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      const FakeCopy& copy = slot.copies[i];
      entries_[{Register::signatures, number * 2 + i}] = {copy.format, copy.shape};
      entries_[{Register::first_workers, number * 2 + i}] = {copy.first_worker};
      entries_[{Register::spoiled, number * 2 + i}] = {copy.state == CopyState::spoiled ? 1U : 0U};
    }
  }

  v1::Error take(const Program& program, v1::Update::Type type, const v1::RegisterEntry& wanted) {
    if (type != v1::Update::MODIFY) return error_of(grpc::INVALID_ARGUMENT, "no modification");
    for (const TestRegister& each : test_registers(TargetKind::tofino)) {
      if (each.id != wanted.register_id()) continue;
      v1::Entity entity;
      *entity.mutable_register_entry() = wanted;
      const Numbers numbers = program.numbers_of(entity);
      if (wanted.data().has_struct_() == each.members.empty() ||
          numbers.size() != std::max<std::size_t>(each.members.size(), 1)) {
        return error_of(grpc::INVALID_ARGUMENT, "of another type");
      }
      entries_[{each.number, static_cast<std::uint32_t>(wanted.index().index())}] = numbers;
      return {};
    }
    return error_of(grpc::NOT_FOUND, "no such register");
  }

  v1::Entity read(const Program& program, const v1::RegisterEntry& wanted) const {
    v1::Entity entity;
    *entity.mutable_register_entry() = wanted;
    v1::P4Data& data = *entity.mutable_register_entry()->mutable_data();
    for (const TestRegister& each : test_registers(TargetKind::tofino)) {
      if (program.id_of(each.number) != wanted.register_id()) continue;
      const auto index = static_cast<std::uint32_t>(wanted.index().index());
      for (const std::uint64_t number : entry(each.number, index)) {
        v1::P4Data& to = each.members.empty() ? data : *data.mutable_struct_()->add_members();
        to.set_bitstring(bytes_of(number));
      }
    }
    return entity;
  }

  // The program's answer to a packet of the controller.
  v1::PacketIn pass(const Program& program, const v1::PacketOut& packet) {
    std::vector<std::uint32_t> task;  // ticket, copy, writes, open, seen, round
    for (const v1::PacketMetadata& metadata : packet.metadata()) {
      task.push_back(word(number_of(metadata.value())));
    }
    FakeSlot& slot = slots_[task.at(1) / 2];
    FakeCopy& copy = slot.copies[task[1] % 2];
    if ((task.at(2) & 1) != 0) {
      slot.open = task.at(3);
      slot.seen = task.at(4);
    }
    if ((task[2] & 2) != 0) {
      copy.round = task.at(5);
      copy.state = CopyState::not_complete;
    }
    v1::PacketIn answer;
    std::uint32_t field = 0;
    for (const std::uint32_t value :
         {task[0], task[1], slot.open, slot.seen, copy.format, copy.shape, copy.first_worker,
          copy.round, static_cast<std::uint32_t>(copy.state)}) {
      v1::PacketMetadata& metadata = *answer.add_metadata();
      metadata.set_metadata_id(program.fields_in()[field++]);
      metadata.set_value(bytes_of(value));
    }
    return answer;
  }

 private:
  using Numbers = std::vector<std::uint64_t>;
  static std::uint32_t word(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

  // As the program starts with, unless it has been written.
  Numbers entry(Register of, std::uint32_t index) const {
    const auto found = entries_.find({of, index});
    if (found != entries_.end()) return found->second;
    if (of <= Register::slots_open) return {1, 0};
    return Numbers(of == Register::signatures ? 2 : 1);
  }

  std::map<std::uint32_t, FakeSlot> slots_;                        // of BMv2
  std::map<std::pair<Register, std::uint32_t>, Numbers> entries_;  // of Tofino
};

}  // namespace infold::p4
