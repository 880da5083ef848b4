// SPDX-License-Identifier: Apache-2.0
//
// The abilities that a site of any plane reports when a job is joined (spec/joining.md, J-014).
// join/job_use.h combines the records of all sites of a job.
#pragma once

#include <cstdint>
#include <string>

#include "base/enum_set.h"
#include "core/format.h"
#include "wire/infold_wire.h"

namespace infold::core {

// The bits of the wire, without formats that this version does not know.
using FormatSet = base::EnumSet<WireFormat, (1U << INFOLD_FORMAT_COUNT) - 1>;
using ReductionSet = base::EnumSet<Reduction, (1U << (INFOLD_REDUCTION_OR + 1)) - 1>;

// Return names such as "bfp8, bfp16".
std::string names_of(FormatSet formats, const char* between = ", ");

std::string names_of(ReductionSet reductions, const char* between = ", ");

// A set of element types that are floats.
using FloatTypes = base::EnumSet<DataType, (1U << (INFOLD_DTYPE_F64 + 1)) - 1>;
std::string names_of(FloatTypes types, const char* between = ", ");

// Returns the types that are summed as native in jobs without trees. `formats` are summed in all
// jobs, and native of the types `alone` only in jobs without trees.
constexpr FloatTypes native_types_of(FormatSet formats, FloatTypes alone) {
  return formats.has(WireFormat::native) ? FloatTypes::all() : alone;
}

// If a job lacks the narrow format of some integers, they travel in i32.
constexpr ElementLayout layout_on_wire(FormatSet formats, ElementLayout layout) {
  const bool is_narrow = layout.format == WireFormat::i8 || layout.format == WireFormat::i16;
  if (!is_narrow || formats.has(layout.format) || !formats.has(WireFormat::i32)) return layout;
  return {WireFormat::i32, layout.dtype};
}

// The default values are the abilities of core::Aggregator.
struct SiteRecord {
  FormatSet formats = FormatSet::all();  // the formats that it sums, and copies in a broadcast
  // For a site whose formats lack native: types that it still sums as native in jobs without trees.
  FloatTypes native_types;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // the most elements in a chunk
  std::uint32_t workers_max = INFOLD_WORKERS_MAX;    // the most workers in a job
  bool takes_sparse = true;                          // takes contributions without zeros
  bool verifies_checksums = true;                    // checks every packet that it sums
  // How its PENDING names the missing ranks. core::Aggregator sends bits where ranks need
  // more pairs than a packet has.
  bool sends_ranges = true;
  bool sends_bits = true;
  // Elements in its packets are big-endian, because some chips cannot reverse bytes.
  bool is_big_endian = false;
  ReductionSet reductions = ReductionSet::all();  // the reductions that it takes

  // Returns the types that it sums as native in a job without trees.
  constexpr FloatTypes native() const { return native_types_of(formats, native_types); }

  friend bool operator==(const SiteRecord&, const SiteRecord&) = default;
};

}  // namespace infold::core
