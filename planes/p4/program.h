// SPDX-License-Identifier: Apache-2.0
//
// The parts of a P4 program that its controller uses, with the numbers that the compiler gave them:
// tables, groups, digests, registers, and the packets that reach the registers. Makes messages for
// a device, and reads a device's messages.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "planes/p4/program_names.h"
#include "proto/p4/p4runtime.pb.h"

namespace infold::p4 {

namespace v1 = ::p4::v1;

// The same values as in planes/p4/pipeline/generated/sizes.p4 and planes/p4/pipeline/headers.p4.
inline constexpr std::uint32_t kJobsMax = 16;
inline constexpr std::uint32_t kSlotsOfJob = 256;
inline constexpr std::uint32_t kElementsMax = 64;
inline constexpr std::uint32_t kStationsMax = 1024;
inline constexpr std::uint32_t kFloodGroup = 1;
inline constexpr std::uint32_t kFirstJobGroup = 2;  // followed by one for each further job

using Numbers = std::initializer_list<std::uint64_t>;

// A digest: a packet came in at this port, from a station whose address was not known there.
struct StationNote {
  std::uint64_t mac = 0;
  std::uint32_t port = 0;
};

// A digest: a worker's packet came from another place than the table says.
struct WorkerNote {
  std::uint16_t job = 0;
  std::uint8_t worker = 0;
  std::uint64_t mac = 0;
  std::uint16_t udp_port = 0;
  std::uint32_t port = 0;
};

// What a packet does to the registers of one copy of a slot.
struct RegisterTask {
  std::uint32_t copy = 0;
  bool writes_slot = false;  // writes open and seen to all registers of slots
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  bool clears_copy = false;  // so that it matches no packet and is not spoiled
};

// The registers after the task's packet.
struct RegisterView {
  std::uint32_t ticket = 0;  // from the task's packet
  std::uint32_t copy = 0;
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  std::uint32_t layout = 0;
  std::uint32_t shape = 0;
  std::uint32_t first_worker = 0;
  bool is_spoiled = false;
};

class Program {
 public:
  // Takes what the compiler writes: a description in binary form, and the program for the device.
  static base::Attempt<Program> of(TargetKind target, const std::string& p4info, std::string text);
  static base::Attempt<Program> of(TargetKind target, v1::ForwardingPipelineConfig config);

  TargetKind target() const { return target_; }
  const v1::ForwardingPipelineConfig& config() const { return config_; }

  // Numbers are in the program's order. A deletion has no parameters.
  v1::Update update(v1::Update::Type type, Table table, Numbers keys,
                    Numbers parameters = {}) const;
  v1::Update update(v1::Update::Type type, std::uint32_t group,
                    const std::vector<v1::Replica>& replicas) const;
  v1::Update ask_for(DigestKind kind) const;
  v1::Entity all_verdicts() const;
  static v1::Entity all_groups();

  // Do the same for registers. numbers_of() returns the numbers in the answer to a read request.
  v1::Update write_register(Register of, std::uint32_t index, Numbers values) const;
  v1::Entity entry_of(Register of, std::uint32_t index) const;
  std::vector<std::uint64_t> numbers_of(const v1::Entity& answer) const;

  v1::PacketOut packet(std::uint32_t ticket, const RegisterTask& task) const;
  std::optional<RegisterView> read_packet(const v1::PacketIn& packet) const;
  std::vector<StationNote> stations(const v1::DigestList& list) const;
  std::vector<WorkerNote> workers(const v1::DigestList& list) const;

  // Tests make a fake device with this.
  std::uint32_t id_of(Table table) const { return tables_[static_cast<std::size_t>(table)].id; }
  std::uint32_t id_of(DigestKind kind) const { return digests_[static_cast<std::size_t>(kind)]; }
  std::uint32_t id_of(Register of) const { return registers_[static_cast<std::size_t>(of)].id; }
  const std::vector<std::uint32_t>& fields_in() const { return fields_in_; }

 private:
  struct TableNumbers {
    std::uint32_t id = 0;
    std::vector<std::uint32_t> keys;
    std::uint32_t action = 0;
    std::vector<std::uint32_t> parameters;
  };

  struct RegisterNumbers {
    std::uint32_t id = 0;
    std::size_t members = 0;  // none: each entry is a number
  };

  base::Attempt<void> find_all();
  base::Attempt<void> find_packets();
  base::Attempt<TableNumbers> find(const TableNames& names) const;
  base::Attempt<RegisterNumbers> find(const RegisterNames& names) const;

  TargetKind target_ = TargetKind::bmv2;
  v1::ForwardingPipelineConfig config_;
  std::array<TableNumbers, static_cast<std::size_t>(Table::count_)> tables_;
  std::array<std::uint32_t, static_cast<std::size_t>(DigestKind::count_)> digests_{};
  std::array<RegisterNumbers, static_cast<std::size_t>(Register::count_)> registers_;
  std::uint32_t verdicts_ = 0;
  std::vector<std::uint32_t> fields_out_;  // the fields of a task
  std::vector<std::uint32_t> fields_in_;   // the fields of a view
};

// Numbers in P4Runtime's form.
std::string bytes_of(std::uint64_t number);
std::uint64_t number_of(const std::string& bytes);

}  // namespace infold::p4
