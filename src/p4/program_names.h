// SPDX-License-Identifier: Apache-2.0
//
// What the program of p4 calls its tables, digests and registers, as the compiler for each target
// tells them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace infold::p4 {

enum class TargetKind : std::uint8_t { bmv2, tofino };

enum class Table : std::uint8_t { addresses, senders, workers, places, stations, sources, count_ };
enum class DigestKind : std::uint8_t { station, worker, count_ };
// Those that P4Runtime reads and writes. BMv2 takes no messages for registers.
enum class Register : std::uint8_t {
  slots_before,
  slots_after,
  slots_open,
  signatures,
  first_workers,
  spoiled,
  count_
};

// Fields stand in the program's order.
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
  std::vector<std::string_view> members;  // none: each entry is a number
};
struct ProgramNames {
  std::array<std::string_view, static_cast<std::size_t>(DigestKind::count_)> digests;
  std::vector<RegisterNames> registers;
  // Of packets to the registers and of those that come back. None: there are no such packets.
  std::vector<std::string_view> fields_out;
  std::vector<std::string_view> fields_in;
};

// All of them, on each target.
const std::vector<TableNames>& table_names();
// What differs.
const ProgramNames& names_of(TargetKind target);

}  // namespace infold::p4
