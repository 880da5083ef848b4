// SPDX-License-Identifier: Apache-2.0
//
// For tests: the registers of a device. Depending on the program, packets through the pipeline or
// P4Runtime's messages reach them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/check.h"
#include "planes/p4/program.h"
#include "planes/p4/program_testing.h"

namespace infold::p4 {

inline v1::Error error_of(grpc::StatusCode code, const char* message) {
  v1::Error error;
  error.set_canonical_code(code);
  error.set_message(message);
  return error;
}

struct FakeCopy {
  std::uint32_t layout = 0;
  std::uint32_t shape = 0;
  std::uint32_t first_worker = 0;
  bool is_spoiled = false;
};
struct FakeSlot {
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  std::array<FakeCopy, 2> copies;
};

class FakeRegisters {
 public:
  FakeSlot slot(std::uint32_t number) const {
    const Numbers open = entry(Register::slots_before, number);
    CHECK(open == entry(Register::slots_after, number));
    CHECK(open == entry(Register::slots_open, number));
    FakeSlot slot = {word(open[0]), word(open[1]), {}};
    for (std::uint32_t i = 0; i < 2; ++i) slot.copies[i] = copy(number * 2 + i);
    return slot;
  }

  void set_slot(std::uint32_t number, const FakeSlot& slot) {
    set_slot(number, slot.open, slot.seen);
    for (std::uint32_t i = 0; i < 2; ++i) set_copy(number * 2 + i, slot.copies[i]);
  }

  v1::Error take(const Program& program, v1::Update::Type type, const v1::RegisterEntry& wanted) {
    if (type != v1::Update::MODIFY) return error_of(grpc::INVALID_ARGUMENT, "no modification");
    for (const TestRegister& each : test_registers()) {
      if (each.id != wanted.register_id()) continue;
      v1::Entity entity;
      *entity.mutable_register_entry() = wanted;
      if (refuses_structs && wanted.data().has_struct_()) {
        return error_of(grpc::INVALID_ARGUMENT, "only bit strings");
      }
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
    for (const TestRegister& each : test_registers()) {
      if (program.id_of(each.number) != wanted.register_id()) continue;
      const auto index = static_cast<std::uint32_t>(wanted.index().index());
      for (const std::uint64_t number : entry(each.number, index)) {
        v1::P4Data& to = each.members.empty() ? data : *data.mutable_struct_()->add_members();
        to.set_bitstring(bytes_of(number));
      }
    }
    return entity;
  }

  // The program's answer to a packet from the controller.
  v1::PacketIn pass(const Program& program, const v1::PacketOut& packet) {
    std::vector<std::uint32_t> task;
    for (const v1::PacketMetadata& metadata : packet.metadata()) {
      task.push_back(word(number_of(metadata.value())));
    }
    const std::uint32_t ticket = task.at(0);
    const std::uint32_t number = task.at(1);
    const std::uint32_t writes = task.at(2);
    if ((writes & 1) != 0) set_slot(number / 2, task.at(3), task.at(4));
    if ((writes & 2) != 0) {
      set_copy(number, {~0U, ~0U, copy(number).first_worker, false});
    }
    const FakeSlot has = slot(number / 2);
    const FakeCopy& of = has.copies[number % 2];
    v1::PacketIn answer;
    std::size_t field = 0;
    for (const std::uint32_t value : {ticket, number, has.open, has.seen, of.layout, of.shape,
                                      of.first_worker, of.is_spoiled ? 1U : 0U}) {
      v1::PacketMetadata& metadata = *answer.add_metadata();
      metadata.set_metadata_id(program.fields_in()[field++]);
      metadata.set_value(bytes_of(value));
    }
    return answer;
  }

  bool refuses_structs = false;

 private:
  using Numbers = std::vector<std::uint64_t>;
  static std::uint32_t word(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

  FakeCopy copy(std::uint32_t number) const {
    const Numbers signature = entry(Register::signatures, number);
    return {.layout = word(signature[0]),
            .shape = word(signature[1]),
            .first_worker = word(entry(Register::first_workers, number)[0]),
            .is_spoiled = entry(Register::spoiled, number)[0] != 0};
  }
  void set_copy(std::uint32_t number, const FakeCopy& copy) {
    entries_[{Register::signatures, number}] = {copy.layout, copy.shape};
    entries_[{Register::first_workers, number}] = {copy.first_worker};
    entries_[{Register::spoiled, number}] = {copy.is_spoiled ? 1U : 0U};
  }
  void set_slot(std::uint32_t number, std::uint32_t open, std::uint32_t seen) {
    for (const Register each :
         {Register::slots_before, Register::slots_after, Register::slots_open}) {
      entries_[{each, number}] = {open, seen};
    }
  }

  // Zeros, unless the entry has been written.
  Numbers entry(Register of, std::uint32_t index) const {
    const auto found = entries_.find({of, index});
    if (found != entries_.end()) return found->second;
    return Numbers(of <= Register::signatures ? 2 : 1);
  }

  std::map<std::pair<Register, std::uint32_t>, Numbers> entries_;
};

}  // namespace infold::p4
