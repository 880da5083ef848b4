// SPDX-License-Identifier: Apache-2.0
#include "p4/targets/limits.h"

#include "core/adder/adder.h"
#include "p4/program.h"

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

// Port 510 is the controller's, and 511 drops.
constexpr TargetLimits kBmv2 = {
    .record = record_of(core::ReductionSet::all()), .port_max = 509, .program_file = "infold.json"};

// A pair of sums has four operations on the chip: write, add, take the maximum, read the high half.
// Packets that pass once more come in at port 68, in the first pipe. Other pipes have registers of
// their own.
constexpr TargetLimits kTofino = {
    .record = record_of({core::Reduction::sum, core::Reduction::average, core::Reduction::max}),
    .port_max = 67,
    .program_file = "infold.bin"};

}  // namespace

const TargetLimits& limits_of(TargetKind target) {
  return target == TargetKind::bmv2 ? kBmv2 : kTofino;
}

}  // namespace infold::p4
