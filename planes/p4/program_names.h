// SPDX-License-Identifier: Apache-2.0
//
// The names of our P4 program's tables, digests and registers, as the compiler for each target
// reports them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace infold::p4 {

enum class TargetKind : std::uint8_t { bmv2, tofino };

enum class Table : std::uint8_t { addresses, senders, workers, places, stations, sources, count_ };
enum class DigestKind : std::uint8_t { station, worker, count_ };
// The registers that P4Runtime reads and writes. BMv2 does not accept messages for registers.
enum class Register : std::uint8_t {
  slots_before,
  slots_after,
  slots_open,
  signatures,
  first_workers,
  spoiled,
  count_
};

// Fields are in the program's order.
struct TableNames {
  Table number;
  std::string_view table;
  std::vector<std::string_view> keys;
  std::string_view action;
  std::vector<std::string_view> parameters;
};
struct RegisterNames {
  Register number;
  std::string_view name;
  std::vector<std::string_view> members;  // empty: each entry is a number
};
struct ProgramNames {
  std::array<std::string_view, static_cast<std::size_t>(DigestKind::count_)> digests;
  std::vector<RegisterNames> registers;
  // The fields of packets to the registers, and of the answers. Empty if the target has no such
  // packets.
  std::vector<std::string_view> fields_out;
  std::vector<std::string_view> fields_in;
};

// All tables, which have the same names on each target.
const std::vector<TableNames>& table_names();
// The names that differ between targets.
const ProgramNames& names_of(TargetKind target);

}  // namespace infold::p4
