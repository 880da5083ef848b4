// SPDX-License-Identifier: Apache-2.0
//
// What a site can, as it says when a job is joined (spec/joining.md, J-014). The record of any
// plane; what a job makes of the records of all its sites is control/job_use.h.
#pragma once

#include <cstdint>
#include <string>

#include "core/format.h"
#include "wire/infold_wire.h"

namespace infold::core {

// Of wire formats: bit n for format n.
class FormatSet {
 public:
  constexpr FormatSet() = default;
  // Bits of formats that this version does not know are dropped.
  constexpr explicit FormatSet(std::uint32_t bits) : bits_(bits & kKnown) {}
  static constexpr FormatSet all() { return FormatSet(kKnown); }
  static constexpr FormatSet of(WireFormat format) {
    return FormatSet(1U << static_cast<unsigned>(format));
  }

  constexpr bool has(WireFormat format) const { return !(*this & of(format)).is_empty(); }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr std::uint32_t bits() const { return bits_; }

  friend constexpr FormatSet operator&(FormatSet a, FormatSet b) {
    return FormatSet(a.bits_ & b.bits_);
  }
  friend constexpr FormatSet operator|(FormatSet a, FormatSet b) {
    return FormatSet(a.bits_ | b.bits_);
  }
  // In this one and not in the other.
  friend constexpr FormatSet operator-(FormatSet a, FormatSet b) {
    return FormatSet(a.bits_ & ~b.bits_);
  }
  friend constexpr bool operator==(FormatSet, FormatSet) = default;

 private:
  static constexpr std::uint32_t kKnown = (1U << INFOLD_FORMAT_COUNT) - 1;
  std::uint32_t bits_ = 0;
};

// As in "bfp8, bfp16".
std::string names_of(FormatSet formats, const char* between = ", ");

// Of element types: bit n for type n of R-020.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  // Bits of types that are no floats are dropped.
  constexpr explicit TypeSet(std::uint32_t bits) : bits_(bits & kFloats) {}
  static constexpr TypeSet floats() { return TypeSet(kFloats); }
  static constexpr TypeSet of(DataType type) { return TypeSet(1U << static_cast<unsigned>(type)); }

  constexpr bool has(DataType type) const { return !(*this & of(type)).is_empty(); }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr std::uint32_t bits() const { return bits_; }

  friend constexpr TypeSet operator&(TypeSet a, TypeSet b) { return TypeSet(a.bits_ & b.bits_); }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) { return TypeSet(a.bits_ | b.bits_); }
  friend constexpr bool operator==(TypeSet, TypeSet) = default;

 private:
  static constexpr std::uint32_t kFloats = (1U << (INFOLD_DTYPE_F64 + 1)) - 1;
  std::uint32_t bits_ = 0;
};

// Unless it says otherwise, what core::Aggregator can.
struct SiteRecord {
  FormatSet formats = FormatSet::all();  // that it sums, and copies in a broadcast
  // Of a site whose formats lack native: what it sums as native all the same, in jobs without
  // trees.
  TypeSet native_types;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // of a chunk
  std::uint32_t workers_max = INFOLD_WORKERS_MAX;    // of a job
  bool takes_sparse = true;                          // contributions that leave out zeros
  bool verifies_checksums = true;                    // of all that it sums
  // How its PENDING names the missing ranks.
  bool sends_ranges = true;
  bool sends_bits = false;

  // What it sums as native in a job without trees.
  constexpr TypeSet native() const {
    return formats.has(WireFormat::native) ? TypeSet::floats() : native_types;
  }

  friend bool operator==(const SiteRecord&, const SiteRecord&) = default;
};

}  // namespace infold::core
