// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/targets/limits.h"

#include <fmt/format.h>

#include "core/adder/adder.h"
#include "planes/p4/program.h"

namespace infold::p4 {
namespace {

constexpr core::SiteRecord record_of(core::ReductionSet reductions) {
  core::SiteRecord record = core::adder_record(kElementsMax);
  record.formats = {core::WireFormat::i32};
  record.reductions = reductions;
  record.is_big_endian = true;
  record.verifies_checksums = true;
  return record;
}

// Port 510 is the controller's, and port 511 drops packets.
constexpr TargetLimits kBmv2 = {.record = record_of(core::ReductionSet::all()),
                                .ports_of_pipe = 512,
                                .port_max = 509,
                                .program_file = "infold.json",
                                .registers_hint = "it needs the option --cpu-port 510"};

// On the chip, a pair of sums has four operations: write, add, take the maximum, and read the high
// half. Packets that pass again come in at port 68, which is in the first pipe. Other pipes have
// separate registers.
constexpr TargetLimits kTofino = {
    .record = record_of({core::Reduction::sum, core::Reduction::average, core::Reduction::max}),
    .pipes = 4,
    .ports_of_pipe = 128,
    .port_max = 67,
    .program_file = "infold.bin",
    .registers_hint =
        "it needs a P4Runtime server that reads and writes registers of two numbers "
        "as structs; docs/switches/p4.md says which servers do not"};

}  // namespace

const TargetLimits& limits_of(TargetKind target) {
  return target == TargetKind::bmv2 ? kBmv2 : kTofino;
}

std::string ports_text(const TargetLimits& limits) {
  std::string text;
  for (std::uint32_t pipe = 0; pipe < limits.pipes; ++pipe) {
    const std::uint32_t first = pipe * limits.ports_of_pipe;
    text += fmt::format("{}{} to {}", pipe == 0 ? "" : ", ", first, first + limits.port_max);
  }
  return text;
}

}  // namespace infold::p4
