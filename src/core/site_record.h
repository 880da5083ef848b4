// SPDX-License-Identifier: Apache-2.0
//
// What a site can, as it says when a job is joined (spec/joining.md, J-014). The record of any
// plane; what a job makes of the records of all its sites is control/job_use.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/enum_set.h"
#include "core/format.h"
#include "wire/infold_wire.h"

namespace infold::core {

// As on the wire, and without formats that this version does not know.
using FormatSet = base::EnumSet<WireFormat, (1U << INFOLD_FORMAT_COUNT) - 1>;
using ReductionSet = base::EnumSet<Reduction, (1U << (INFOLD_REDUCTION_OR + 1)) - 1>;

// As in "bfp8, bfp16".
std::string names_of(FormatSet formats, const char* between = ", ");

std::string names_of(ReductionSet reductions, const char* between = ", ");

// Likewise of element types that are floats.
using FloatTypes = base::EnumSet<DataType, (1U << (INFOLD_DTYPE_F64 + 1)) - 1>;
std::string names_of(FloatTypes types, const char* between = ", ");

// What is summed as native in jobs without trees, where these formats are summed in all jobs, and
// native of these types in those jobs alone.
constexpr FloatTypes native_types_of(FormatSet formats, FloatTypes alone) {
  return formats.has(WireFormat::native) ? FloatTypes::all() : alone;
}

// Integers of a job that has no format as narrow as they are travel in i32.
constexpr ElementLayout layout_on_wire(FormatSet formats, ElementLayout layout) {
  const bool is_narrow = layout.format == WireFormat::i8 || layout.format == WireFormat::i16;
  if (!is_narrow || formats.has(layout.format) || !formats.has(WireFormat::i32)) return layout;
  return {WireFormat::i32, layout.dtype};
}

// Unless it says otherwise, what core::Aggregator can.
struct SiteRecord {
  FormatSet formats = FormatSet::all();  // that it sums, and copies in a broadcast
  // Of a site whose formats lack native: what it sums as native all the same, in jobs without
  // trees.
  FloatTypes native_types;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // of a chunk
  std::uint32_t workers_max = INFOLD_WORKERS_MAX;    // of a job
  bool takes_sparse = true;                          // contributions that leave out zeros
  bool verifies_checksums = true;                    // of all that it sums
  // How its PENDING names the missing ranks.
  bool sends_ranges = true;
  bool sends_bits = false;
  // Elements of its packets are big-endian, as a chip has them that cannot reverse bytes.
  bool is_big_endian = false;
  ReductionSet reductions = ReductionSet::all();  // that it takes

  // What it sums as native in a job without trees.
  constexpr FloatTypes native() const { return native_types_of(formats, native_types); }

  friend bool operator==(const SiteRecord&, const SiteRecord&) = default;
};

}  // namespace infold::core
