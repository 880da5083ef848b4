// SPDX-License-Identifier: Apache-2.0
//
// The registry of encodings, which are the ways in which the elements of a call can travel. Each
// record says what one encoding can do. choose_format() reads the records, and nothing else decides
// by the name of a wire format. The records are constants, so any thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <infold/options.h>

#include "base/enum_set.h"
#include "core/format.h"

namespace infold::encoding {

// Before ranks send elements in some encodings, they exchange facts about these elements in a
// separate transfer. This is the kind of facts.
enum class Exchange : std::uint8_t {
  none,
  exponents,  // the exponent of each block
  digits,     // which bits each group of elements has
};

struct Encoding {
  const char* name;
  // The name by which a caller asks for it, or `automatic` if callers cannot ask for it.
  WireFormat wire;
  // The encoding carries these types and reductions. If `copies` is true, it also carries
  // collectives that move elements without reducing them.
  base::EnumSet<DataType> types;
  base::EnumSet<Reduction> reductions;
  bool copies;
  // The types that it carries if neither the call nor the communicator names an encoding.
  base::EnumSet<DataType> default_of;
  // The format of elements in packets. Empty: integers as wide as the element in memory.
  std::optional<core::WireFormat> format;
  Exchange exchange;

  constexpr core::WireFormat format_of(DataType type) const {
    return format.value_or(core::integer_format(type));
  }
};

// Returns all encodings. If several of them carry a call by default, the first one that all sites
// can sum is chosen.
std::span<const Encoding> encodings();
// Returns null for `automatic` and for a number that is not a WireFormat.
const Encoding* find_encoding(WireFormat wire);

}  // namespace infold::encoding
